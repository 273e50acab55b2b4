"""Staff's pages for messages for later."""

from scheduling_app.admin import recurring

__all__ = ["recurring"]
