"""Episodes for tests."""

from typing import Any

from django.utils import timezone

from channels_app.models import Alert, Channel


def make_alert(channel: Channel | None = None, **values: Any) -> Alert:
    """One that is open, of more dead letters than a rule allows."""
    now = timezone.now()
    usual = {"rule_key": "rule-1", "rule": "Many dead letters", "kind": "depth", "threshold": 100, "value": 117}
    return Alert.objects.create(channel=channel, **{**usual, "crossed_at": now, "began_at": now, **values})
