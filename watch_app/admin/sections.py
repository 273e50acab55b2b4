"""The lists of the page, as rows with their links: consumers, what is due, causes, parts, queues, recent events."""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.conf import settings
from django.utils.safestring import SafeString

from channels_app.admin.links import listed
from channels_app.models import Consumer, DeliveryJob, JobStatus
from dlq_app.admin.asking import CONSUMER
from dlq_app.models import DeadLetter
from watch_app.admin import markup, words
from watch_app.admin.sight import Sight
from watch_app.admin.tiles import Links
from watch_app.admin.verdict import is_stale
from watch_app.values import Cause, ConsumerNow, Due, Event, Now, Part, Scope

# A bar that is there can be seen.
LEAST_PERCENT = 4
# Nobody reads more, and the worst come first.
MOST_ROWS = 50


@dataclass(frozen=True)
class State:
    word: str
    tone: str
    icon: str

    @cached_property
    def html(self) -> SafeString:
        return markup.filled(markup.STATE, word=self.word, tone=self.tone, icon=self.icon)


STATES = {
    "disabled": State("disabled", "danger", "block"),
    "paused": State("paused", "warning", "pause_circle"),
    "channel paused": State("channel paused", "warning", "pause_circle"),
    "open": State("breaker open", "warning", "power_off"),
    "ok": State("delivering", "success", "check_circle"),
}


@dataclass(frozen=True)
class Cell:
    """A number and the list behind it."""

    title: str
    name: str
    text: str
    value: str
    url: str = ""

    @property
    def html(self) -> SafeString:
        return markup.filled(markup.LINKED_CELL if self.url else markup.CELL, **vars(self))


@dataclass(frozen=True)
class ConsumerRow:
    name: str
    channel: str
    consumer: str
    url: str
    state: State
    queued: Cell
    in_flight: Cell
    oldest: str
    letters: Cell | None

    @property
    def html(self) -> SafeString:
        return markup.joined(
            markup.filled(markup.CONSUMER, name=self.name, channel=self.channel, consumer=self.consumer, url=self.url),
            self.state.html,
            self.queued.html,
            self.in_flight.html,
            markup.filled(markup.OLDEST, oldest=self.oldest),
            self.letters.html if self.letters else SafeString(),
            SafeString("</tr>"),
        )


@dataclass(frozen=True)
class Bar:
    """`size` in percent of the biggest."""

    at: str
    clock: str
    count: str
    size: int

    @property
    def html(self) -> SafeString:
        return markup.filled(markup.BAR, **vars(self))


@dataclass(frozen=True)
class Row:
    name: str
    text: str
    value: float | None
    size: int = 0
    tone: str = ""
    url: str = ""


@dataclass(frozen=True)
class Bases:
    """Asked for once: to find an address by its name takes longer than to write it."""

    consumers: str
    jobs: str
    letters: str


def consumers(now: Now, sight: Sight) -> list[ConsumerRow]:
    if not sight.consumers:
        return []
    bases = Bases(listed(Consumer), listed(DeliveryJob), listed(DeadLetter))
    return [_consumer(one, bases, sight) for one in now.consumers[:MOST_ROWS]]


def left_out(now: Now) -> int:
    return now.consumers_left_out + max(0, len(now.consumers) - MOST_ROWS)


def _consumer(one: ConsumerNow, bases: Bases, sight: Sight) -> ConsumerRow:
    jobs = f"{bases.jobs}?{CONSUMER}={one.consumer_id}&status__exact=" if sight.jobs else ""
    letters = f"{bases.letters}?{CONSUMER}={one.consumer_id}"
    return ConsumerRow(
        name=f"{one.channel}/{one.consumer}",
        channel=one.channel,
        consumer=one.consumer,
        url=f"{bases.consumers}{one.consumer_id}/change/",
        state=STATES.get(one.state, State(one.state, "warning", "help")),
        queued=_cell("Queued", "queued", one.queued, jobs and f"{jobs}{JobStatus.QUEUED.value}"),
        in_flight=_cell("In flight", "in_flight", one.in_flight, jobs and f"{jobs}{JobStatus.INFLIGHT.value}"),
        oldest=words.lasting(one.oldest_waiting_seconds),
        letters=_cell("Dead letters", "letters", one.letters, letters) if sight.letters else None,
    )


def _cell(title: str, name: str, count: int, url: str) -> Cell:
    """Where there is none, no list need be opened."""
    return Cell(title, name, words.counted(count), str(count), url if count else "")


def bars(spans: Sequence[Due]) -> list[Bar]:
    most = max((one.count for one in spans), default=0)
    return [_bar(one, most) for one in spans]


def _bar(one: Due, most: int) -> Bar:
    count = f"{words.counted(one.count)}{'+' if one.is_about else ''}"
    return Bar(one.at.isoformat(), f"{one.at:%H:%M}", count, size(one.count, most))


def size(count: float, most: float) -> int:
    return max(LEAST_PERCENT, round(100 * count / most)) if count and most else 0


def causes(found: Sequence[Cause], scope: Scope, sight: Sight) -> list[Row]:
    """The worst first."""
    links = Links(scope, sight)
    most = max((cause.count for cause in found), default=0)
    return [
        Row(
            cause.reason,
            words.counted(cause.count),
            cause.count,
            size(cause.count, most),
            "danger",
            links.letters(reason__exact=cause.reason),
        )
        for cause in sorted(found, key=lambda cause: -cause.count)
    ]


def parts(now: Now) -> list[Row]:
    return [_part(part) for part in now.parts]


def _part(part: Part) -> Row:
    url = "/readyz" if part.name == "beat" else settings.FLOWER_URL
    if part.age_seconds is None:
        missed = is_stale(part)
        return Row(
            part.name, "nothing yet" if missed else "does not run", None, tone="danger" if missed else "", url=url
        )
    tone = "danger" if is_stale(part) else "success"
    return Row(part.name, f"{words.lasting(part.age_seconds)} ago", part.age_seconds, tone=tone, url=url)


def depths(now: Now) -> list[Row] | None:
    """None where Redis is away."""
    if now.depths is None:
        return None
    return [Row(name, words.counted(count), count, url=settings.FLOWER_URL) for name, count in now.depths.items()]


@dataclass(frozen=True)
class Kind:
    word: str
    icon: str


KINDS = {
    "letter": Kind("dead letter", "mark_email_unread"),
    "consumer": Kind("consumer", "cell_tower"),
    "alert": Kind("alert", "notifications"),
    "operation": Kind("operation", "published_with_changes"),
    "report": Kind("report", "bar_chart"),
    "admin": Kind("staff", "person"),
}


@dataclass(frozen=True)
class EventRow:
    at: str
    clock: str
    kind: Kind
    text: str
    url: str


def ticker(events: Sequence[Event], kinds: Container[str]) -> list[EventRow]:
    return [
        EventRow(
            event.at.isoformat(),
            f"{event.at:%H:%M:%S}",
            KINDS.get(event.kind, Kind(event.kind, "info")),
            event.text,
            event.url,
        )
        for event in events
        if event.kind in kinds
    ]
