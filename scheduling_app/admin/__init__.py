"""Staff's pages of what is for later. Every act goes through a service, asks first, and is audited."""

from scheduling_app.admin import components, recurring, scheduled

__all__ = ["components", "recurring", "scheduled"]
