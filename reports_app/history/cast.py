"""Who is in the history: channels, producers, and consumers each with a nature of its own."""

from dataclasses import dataclass, field
from typing import Any

from broker_project.lib.conditions import Condition
from channels_app import services
from channels_app.models import Channel, Consumer, Producer


@dataclass(frozen=True)
class Nature:
    """How likely a try fails, of what, how long it takes; and from which part of the history on it fails for good."""

    fails: float
    reason: str
    error: str
    status_code: int | None
    seconds: float
    dies_at: float = 1.0


STEADY = Nature(0.004, "http_4xx", "", 422, 0.05)
FLAKY = Nature(0.35, "http_5xx", "", 503, 0.2)
SLOW = Nature(0.1, "timeout", "No answer within 30 seconds.", None, 9.0)
DYING = Nature(0.02, "refused", "Connection refused.", None, 0.08, dies_at=0.85)
ASKING = Nature(0.08, "nacked", "The device has no room.", None, 4.0)


@dataclass(frozen=True)
class Part:
    """A channel, its share of all messages, how many of them were for later, and its consumers."""

    channel: str
    share: float
    consumers: dict[str, Nature]
    for_later: float = 0.0
    pulls: bool = False
    values: dict[str, Any] = field(default_factory=dict)


# Two consumers have a fifth of all messages: 1.2 jobs each.
CAST = (
    Part("history-telemetry", 0.40, {"device-fleet": ASKING}, pulls=True),
    Part("history-reminders", 0.25, {"mailer": STEADY}, for_later=0.8),
    Part("history-signups", 0.15, {"crm": DYING}),
    Part("history-orders", 0.15, {"billing": STEADY, "warehouse": FLAKY}),
    Part("history-payments", 0.05, {"ledger": STEADY, "fraud-check": SLOW}),
)
PRODUCERS = ("history-shop", "history-app", "history-batch")
CALLBACK = "https://consumer.example.com/"


@dataclass(frozen=True)
class Registered:
    """The rows of the registry that a part plays with; `until` is where its share of all messages ends."""

    part: Part
    channel_id: int
    until: float
    consumers: dict[int, Nature]


def register() -> tuple[list[Registered], list[int]]:
    """Those that are there already play their parts again."""
    parts, until = [], 0.0
    for part in CAST:
        until += part.share
        channel = Channel.objects.named(part.channel).first() or services.create(
            Channel(public_id=part.channel), values={}
        )
        consumers = {_consumer(channel, name, part).pk: nature for name, nature in part.consumers.items()}
        parts.append(Registered(part, channel.pk, until, consumers))
    return parts, [_producer(name).pk for name in PRODUCERS]


def _consumer(channel: Channel | Consumer, name: str, part: Part) -> Consumer:
    assert isinstance(channel, Channel)
    there = Consumer.objects.filter(channel=channel).named(name).first()
    values = {"type": "pull"} if part.pulls else {"callback_url": CALLBACK + name}
    return there or services.put(Consumer(channel=channel, public_id=name), values=values, condition=Condition())[0]


def _producer(name: str) -> Producer:
    there = Producer.objects.named(name).first()
    return there or services.put(Producer(public_id=name), values={}, condition=Condition())[0]
