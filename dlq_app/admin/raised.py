"""Open alerts about dead letters, as the overview shows them."""

from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone
from django.utils.timesince import timesince

from channels_app.admin.links import listed
from channels_app.admin.states import written
from channels_app.alerts.words import sentence
from channels_app.models import Alert, AlertKind
from dlq_app.admin.asking import CHANNEL
from dlq_app.models import DeadLetter

# More would push the rest of the overview out of sight.
MOST_SHOWN = 10
MINUTE = timedelta(minutes=1)
KINDS = (AlertKind.DEPTH, AlertKind.AGE)


@dataclass(frozen=True)
class Raised:
    """`url`: the channel's letters."""

    about: str
    text: str
    since: str
    url: str


def open_alerts() -> list[Raised]:
    """The newest, and one more than are shown: whether it came says whether there are others."""
    rows = Alert.objects.open().named().filter(kind__in=KINDS).order_by("-pk")[: MOST_SHOWN + 1]
    return [
        Raised(alert.about, sentence(alert), _since(alert), listed(DeadLetter, **{CHANNEL: alert.channel_id}))
        for alert in rows
    ]


def _since(alert: Alert) -> str:
    began_at, now = alert.began_at or alert.crossed_at, timezone.now()
    lasted = f", for {timesince(began_at, now)}" if now - began_at > MINUTE else ""
    return f"Since {written(began_at)}{lasted}"
