"""The way of a message, step by step: accept, fan out, claim, send, settle. No Celery, no requests."""
