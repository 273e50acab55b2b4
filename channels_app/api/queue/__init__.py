"""The door of the polled queue: a queue is a channel, a subscriber is a consumer of it that polls by index."""
