"""Staff's pages. Lists are for looking; every act goes through a service, asks before it destroys, and is audited."""

from django.contrib import admin

from channels_app.admin import (
    accounts,
    api_keys,
    channels,
    consumers,
    dashboard,
    jobs,
    messages,
    operations,
    periodic_tasks,
    producers,
)
from channels_app.admin.login import PacedLogin

admin.site.login_form = PacedLogin

__all__ = [
    "accounts",
    "api_keys",
    "channels",
    "consumers",
    "dashboard",
    "jobs",
    "messages",
    "operations",
    "periodic_tasks",
    "producers",
]
