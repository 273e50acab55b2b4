"""What an address of the dashboard asks for: how far back, and whose numbers."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlencode

from broker_project.lib.errors import BrokerError
from channels_app.models import Channel, Consumer
from watch_app.values import Scope

# How often the page asks anew, in seconds: what is drawn by the hour does not change every other second.
RANGES = {"5m": 2, "15m": 2, "1h": 2, "6h": 10, "24h": 10, "48h": 10, "7d": 30, "30d": 60}
RANGE_NAMES = {
    "5m": "5 minutes",
    "15m": "15 minutes",
    "1h": "hour",
    "6h": "6 hours",
    "24h": "24 hours",
    "48h": "48 hours",
    "7d": "7 days",
    "30d": "30 days",
}
USUAL = "1h"
EVERYONE = Scope()


class UnknownRange(BrokerError):
    """The range is one of 5m, 15m, 1h, 6h, 24h, 48h, 7d, 30d."""


class UnknownChannel(BrokerError):
    """There is no channel with this id."""


class UnknownConsumer(BrokerError):
    """This channel has no consumer with this id."""


class ConsumerWithoutChannel(BrokerError):
    """A consumer is named together with its channel."""


class UnknownTime(BrokerError):
    """After is a time in seconds since 1970."""


@dataclass(frozen=True)
class Asked:
    """`after`: the page has everything up to there."""

    range: str = USUAL
    channel: str = ""
    consumer: str = ""
    after: datetime | None = None
    scope: Scope = EVERYONE

    @property
    def every_seconds(self) -> int:
        return RANGES[self.range]

    @property
    def range_name(self) -> str:
        return RANGE_NAMES[self.range]

    @property
    def tick(self) -> str:
        """How finely the times below a picture are told."""
        return "day" if self.range in ("7d", "30d") else "minute"

    def query(self, **other: str) -> str:
        """The choice as it stands in an address; what is usual is left out."""
        chosen = {"range": self.range, "channel": self.channel, "consumer": self.consumer, **other}
        if chosen["range"] == USUAL:
            del chosen["range"]
        return urlencode({name: value for name, value in chosen.items() if value})


def asked(told: Mapping[str, str]) -> Asked:
    """Refuses what cannot be meant."""
    words, channel, consumer = (told.get(name, "").strip() for name in ("range", "channel", "consumer"))
    if (words or USUAL) not in RANGES:
        raise UnknownRange
    return Asked(words or USUAL, channel, consumer, _time(told.get("after", "")), _scope(channel, consumer))


def _time(text: str) -> datetime | None:
    if not text:
        return None
    # Within what a time can be.
    if not re.fullmatch(r"\d{1,11}", text, re.ASCII):
        raise UnknownTime
    return datetime.fromtimestamp(int(text), UTC)


def _scope(channel: str, consumer: str) -> Scope:
    if consumer and not channel:
        raise ConsumerWithoutChannel
    if not channel:
        return Scope()
    channel_id = Channel.objects.named(channel).values_list("pk", flat=True).first()
    if channel_id is None:
        raise UnknownChannel
    return Scope(channel_id, _consumer_id(channel_id, consumer) if consumer else 0)


def _consumer_id(channel_id: int, consumer: str) -> int:
    rows = Consumer.objects.named(consumer).filter(channel_id=channel_id)
    consumer_id = rows.values_list("pk", flat=True).first()
    if consumer_id is None:
        raise UnknownConsumer
    return consumer_id
