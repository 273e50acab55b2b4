"""Staff's pages of dead letters: why they are there, in groups, and what mends them. Every act asks, and is audited."""

from dlq_app.admin import letters, policies

__all__ = ["letters", "policies"]
