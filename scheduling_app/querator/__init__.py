"""Querator's words here: a queue is a channel with one pull consumer, an item is a job, or a message for later."""
