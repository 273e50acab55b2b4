"""What the dashboard shows and alerts judge, as values: numbers over time, and how things stand now."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True)
class Scope:
    """Whose numbers: all, a channel's, or a consumer's. By row ids; 0 stands for all."""

    channel_id: int = 0
    consumer_id: int = 0


@dataclass(frozen=True)
class Span:
    """A stretch of time in whole steps; `end` is not included."""

    start: datetime
    end: datetime
    step: timedelta


@dataclass(frozen=True)
class Percentiles:
    """In seconds; None where nothing was measured."""

    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


@dataclass(frozen=True)
class Point:
    """One step: what happened in it, and how much waited at its end."""

    at: datetime
    accepted: int = 0
    delivered: int = 0
    failed: int = 0
    dead: int = 0
    scheduled: int = 0
    retried: int = 0
    latency: Percentiles = Percentiles()
    lag: Percentiles = Percentiles()
    queued: int | None = None
    in_flight: int | None = None
    letters: int | None = None


@dataclass(frozen=True)
class Totals:
    """The same over a whole span; percentiles are of all its measurements together."""

    accepted: int
    delivered: int
    failed: int
    dead: int
    scheduled: int
    retried: int
    latency: Percentiles
    lag: Percentiles

    @property
    def tries(self) -> int:
        return self.delivered + self.failed

    @property
    def success_rate(self) -> float | None:
        return self.delivered / self.tries if self.tries else None

    @property
    def retry_rate(self) -> float | None:
        """Of all tries, those that failed and were not the last."""
        return self.retried / self.tries if self.tries else None


@dataclass(frozen=True)
class Series:
    """`first_letters`: how many dead letters were open at the first look within the span, if there was one."""

    span: Span
    points: Sequence[Point]
    totals: Totals
    first_letters: int | None = None


@dataclass(frozen=True)
class ConsumerNow:
    """How a consumer stands. `state`: the first of disabled, paused, channel paused, open (its breaker), ok."""

    channel_id: int
    channel: str
    consumer_id: int
    consumer: str
    kind: str
    state: str
    queued: int
    in_flight: int
    letters: int
    oldest_waiting_seconds: float | None


@dataclass(frozen=True)
class Due:
    """Messages for later that are due in a stretch of time; `is_about`: too many to be counted."""

    at: datetime
    count: int
    is_about: bool = False


@dataclass(frozen=True)
class Cause:
    """Open dead letters of one reason."""

    reason: str
    count: int


@dataclass(frozen=True)
class Part:
    """Beat, or a kind of worker: when it last got something done."""

    name: str
    age_seconds: float | None


@dataclass(frozen=True)
class Event:
    """Something that happened, for the ticker."""

    at: datetime
    kind: str
    text: str
    url: str = ""


@dataclass(frozen=True)
class Now:
    """Everything that is a state and not a rate. `depths` is None where Redis is away."""

    at: datetime
    queued: int
    in_flight: int
    letters: int
    scheduled: int
    overdue_seconds: float | None
    consumers: Sequence[ConsumerNow]
    consumers_left_out: int
    next_hour: Sequence[Due]
    next_day: Sequence[Due]
    causes: Sequence[Cause]
    parts: Sequence[Part]
    depths: dict[str, int] | None
    paused_channels: Sequence[str]
    open_alerts: int
