"""What is sent when: a pure function of the seed and the second. The same seed makes the same traffic."""

import math
from dataclasses import dataclass
from random import Random

from broker_project.demo.cast import INVOICES, JOBS, ORDERS, PAYMENTS, REMINDERS, SIGNUPS, TELEMETRY
from broker_project.demo.payloads import Payload, payload

# Of a hundred messages.
SHARES = {ORDERS: 33, TELEMETRY: 29, PAYMENTS: 18, SIGNUPS: 10, REMINDERS: 6, INVOICES: 3, JOBS: 1}
# A day of the demo: it rises and falls by half in this time.
DAY_SECONDS = 600
# Somewhere in each of these there is a burst: a few seconds with several times the traffic.
BURST_EVERY_SECONDS, BURST_SECONDS, BURST_FACTOR = 90, 4, 4.0
# Messages for later: so many of a hundred within this time. The broker's own door asks for two minutes at least.
SOONEST_SECONDS = 150
HORIZONS = ((60, 900), (25, 3_600), (15, 86_400))
# Jobs are soon: Dapr's door asks for no delay.
JOB_SECONDS = (3, 45)
PRIORITIES = (0, 0, 0, 0, 5, 9)


@dataclass(frozen=True)
class Item:
    payload: Payload
    priority: int = 0
    delay_seconds: float | None = None


@dataclass(frozen=True)
class Send:
    """One request: a message, or a batch of them."""

    # Seconds after the second began.
    after: float
    channel: str
    items: tuple[Item, ...]


def second(number: int, *, rate: float, seed: int) -> tuple[Send, ...]:
    """Everything that is sent in this second, in order. Readings go as one batch."""
    chance = Random(f"{seed}/{number}")
    channels = chance.choices(list(SHARES), weights=list(SHARES.values()), k=_count(number, rate, seed, chance))
    sends = [Send(chance.random(), name, (_item(name, chance),)) for name in channels if name != TELEMETRY]
    readings = tuple(_item(TELEMETRY, chance) for _ in range(channels.count(TELEMETRY)))
    batch = [Send(chance.random(), TELEMETRY, readings)] if readings else []
    return tuple(sorted([*sends, *batch], key=lambda send: send.after))


def wave(number: int) -> float:
    """The time of day: 1 on average, between a half and one and a half."""
    return 1 + 0.5 * math.sin(2 * math.pi * number / DAY_SECONDS)


def burst(number: int, seed: int) -> float:
    turn, place = divmod(number, BURST_EVERY_SECONDS)
    begin = Random(f"{seed}/burst/{turn}").randrange(BURST_EVERY_SECONDS - BURST_SECONDS)
    return BURST_FACTOR if begin <= place < begin + BURST_SECONDS else 1.0


def _count(number: int, rate: float, seed: int, chance: Random) -> int:
    """Whole messages whose average is the rate wanted now."""
    return math.floor(rate * wave(number) * burst(number, seed) + chance.random())


def _item(channel: str, chance: Random) -> Item:
    return Item(payload(channel, chance), chance.choice(PRIORITIES), _delay(channel, chance))


def _delay(channel: str, chance: Random) -> float | None:
    if channel == JOBS:
        return chance.uniform(*JOB_SECONDS)
    if channel != REMINDERS:
        return None
    weights, horizons = zip(*HORIZONS, strict=True)
    return chance.uniform(SOONEST_SECONDS, chance.choices(horizons, weights)[0])
