"""Tells what has not been heard yet, by every way. One at a time: nobody is told twice."""

from datetime import datetime

from django.utils import timezone

from broker_project.lib.pg_lock import only_one
from channels_app.alerts import mail, webhook
from channels_app.models import Progress

TELL_LOCK = 7_012
# The row that says when this was last done.
PART = "alerts-told"


def tell() -> int:
    """Says how much was told."""
    with only_one(TELL_LOCK, patience_seconds=0) as is_ours:
        return _tell(timezone.now()) if is_ours else 0


def _tell(now: datetime) -> int:
    told = webhook.tell(now) + mail.tell(now)
    Progress.objects.mark(PART)
    return told
