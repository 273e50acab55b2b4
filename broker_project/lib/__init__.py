"""Leaves: small tools that know nothing of Django's models or of HTTP requests."""
