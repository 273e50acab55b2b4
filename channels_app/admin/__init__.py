"""Staff's pages. Lists are for looking; every act goes through a service, asks before it destroys, and is audited."""

from channels_app.admin import accounts, api_keys, channels, consumers, dashboard, periodic_tasks, producers

__all__ = ["accounts", "api_keys", "channels", "consumers", "dashboard", "periodic_tasks", "producers"]
