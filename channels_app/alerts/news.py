"""What is told of alerts: that one began, and that it is over. By each way until it was heard."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Now

from channels_app.alerts.words import sentence
from channels_app.models import Alert, AlertKind

EVENTS = ("began", "ended")
MOST = 100
# A way that was away for longer, or has only now been set, is not told of old times.
OVER_FOR = timedelta(days=1)
# The oldest first; by mail what was tried least: what some server always refuses keeps nobody from hearing.
TURNS = {"posted": ("pk",), "mailed": ("mail_tries", "pk")}
_OF_LETTERS = frozenset({AlertKind.DEPTH, AlertKind.AGE})


@dataclass(frozen=True)
class News:
    """`event` is began or ended."""

    alert: Alert
    event: str

    @property
    def id(self) -> str:
        """The same for each try: who got it twice can tell."""
        return f"alert-{self.alert.pk}-{self.event}"

    @property
    def at(self) -> datetime:
        moment = self.alert.began_at if self.event == "began" else self.alert.ended_at
        assert moment is not None
        return moment

    @property
    def body(self) -> bytes:
        alert = self.alert
        told: dict[str, Any] = {
            "type": f"{'dead_letters' if alert.kind in _OF_LETTERS else 'broker'}.alert_{self.event}",
            "rule": alert.rule,
            "channel": alert.channel.public_id if alert.channel else None,
            "consumer": alert.consumer.public_id if alert.consumer else None,
            "part": alert.part or None,
            "kind": alert.kind,
            "threshold": plain(alert.threshold),
            "value": plain(alert.value),
            "text": sentence(alert),
            "beganAt": _written(alert.began_at),
            "endedAt": _written(alert.ended_at) if self.event == "ended" else None,
        }
        return json.dumps(told).encode()


def untold(way: str, now: datetime) -> Iterator[News]:
    """In their turn. `way` is posted or mailed."""
    began, ended = f"began_{way}_at", f"ended_{way}_at"
    is_open = Q(ended_at__isnull=True, **{f"{began}__isnull": True})
    is_over = Q(ended_at__gt=now - OVER_FOR, **{f"{ended}__isnull": True})
    alerts = Alert.objects.begun().named().filter(_wanted(way, now), is_open | is_over)
    for alert in alerts.order_by(*TURNS[way])[:MOST]:
        if getattr(alert, began) is None:
            yield News(alert, "began")
        if alert.ended_at and getattr(alert, ended) is None:
            yield News(alert, "ended")


def is_given_up(alert: Alert, now: datetime) -> bool:
    """Whether nobody is told of it any more."""
    return alert.ended_at is not None and alert.ended_at <= now - OVER_FOR


def _wanted(way: str, now: datetime) -> Q:
    """What nobody is to read by mail stays as it is, and takes no place from what somebody is to read."""
    if way == "posted":
        return Q(to_webhook=True)
    is_due = Q(to_email=True) & (Q(mail_after__isnull=True) | Q(mail_after__lte=now))
    return is_due if settings.ALERT_EMAILS else is_due & ~Q(addresses=[])


def heard(way: str, told: Iterable[News]) -> int:
    """Says how many there were."""
    ids: dict[str, list[int]] = {event: [] for event in EVENTS}
    for news in told:
        ids[news.event].append(news.alert.pk)
    # What comes after it, by mail, begins with its first try.
    afresh = {"mail_tries": 0, "mail_refusals": 0, "mail_after": None} if way == "mailed" else {}
    for event, of_event in ids.items():
        Alert.objects.filter(pk__in=of_event).update(**{f"{event}_{way}_at": Now()}, **afresh)
    return sum(map(len, ids.values()))


def plain(number: float) -> float:
    """2, not 2.0."""
    return int(number) if number == int(number) else round(number, 3)


def _written(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
