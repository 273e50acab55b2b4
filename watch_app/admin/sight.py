"""What a viewer may see. The dashboard's permission opens the page; a part also wants that of the list behind it."""

from dataclasses import dataclass
from typing import Any

VIEW = "watch_app.view_dashboard"


@dataclass(frozen=True)
class Sight:
    """Each is a list that the viewer may open."""

    channels: bool = True
    consumers: bool = True
    jobs: bool = True
    letters: bool = True
    messages: bool = True
    scheduled: bool = True
    events: frozenset[str] = frozenset({"letter", "consumer", "alert", "operation", "report", "admin"})


_PERMISSIONS = {
    "channels": "channels_app.view_channel",
    "consumers": "channels_app.view_consumer",
    "jobs": "channels_app.view_deliveryjob",
    "letters": "dlq_app.view_deadletter",
    "messages": "channels_app.view_message",
    "scheduled": "scheduling_app.view_scheduledmessage",
}


# Events by their kinds (see ticker.py).
_EVENTS = {
    "letter": "dlq_app.view_deadletter",
    "consumer": "channels_app.view_consumer",
    "alert": "channels_app.view_alert",
    "operation": "channels_app.view_operation",
    "report": "reports_app.view_report",
    "admin": "admin.view_logentry",
}


def sight_of(user: Any) -> Sight:
    events = frozenset(kind for kind, permission in _EVENTS.items() if user.has_perm(permission))
    return Sight(**{name: user.has_perm(permission) for name, permission in _PERMISSIONS.items()}, events=events)
