"""What needs a look, in sentences, the worst first: the first thing on the page."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings

from watch_app.admin import words
from watch_app.admin.figures import BAD_SUCCESS, LATE_SECONDS, growth_of
from watch_app.admin.sight import Sight
from watch_app.admin.tiles import Links
from watch_app.values import Now, Part, Scope, Series

MOST_NAMED = 3


@dataclass(frozen=True)
class Notice:
    tone: str
    text: str
    url: str = ""


def notices(series: Series, now: Now, scope: Scope, sight: Sight) -> list[Notice]:
    links = Links(scope, sight)
    found = [
        *_alerts(now, links),
        *_parts(now),
        *_traffic(series, links),
        *_later(now, links),
        *_held(now, links),
        *_letters(series, now, links),
    ]
    return sorted(found, key=lambda notice: notice.tone != "danger")


# A broker without a worker for reports delivers all the same.
OPTIONAL = ("reports",)


def is_stale(part: Part) -> bool:
    if part.age_seconds is None:
        return part.name not in OPTIONAL
    return part.age_seconds > settings.PROGRESS_MAX_AGE_SECONDS


def _alerts(now: Now, links: Links) -> Iterator[Notice]:
    url = links.alerts(state="open")
    if now.open_alerts and url:
        some = f"{words.counted(now.open_alerts)} alerts are" if now.open_alerts > 1 else "An alert is"
        yield Notice("danger", f"{some} open.", url)


def _parts(now: Now) -> Iterator[Notice]:
    for part in filter(is_stale, now.parts):
        since = "yet" if part.age_seconds is None else f"for {words.lasting(part.age_seconds)}"
        yield Notice("danger", f"{part.name.capitalize()} has got nothing done {since}.", "/readyz")
    if now.depths is None:
        yield Notice("danger", "Redis is away: messages are accepted, and delivered late.", "/readyz")


def _traffic(series: Series, links: Links) -> Iterator[Notice]:
    rate = series.totals.success_rate
    if rate is not None and rate < BAD_SUCCESS:
        yield Notice("warning", f"Only {words.percent(rate)} of the tries succeed.", links.jobs(turn="waiting"))


def _later(now: Now, links: Links) -> Iterator[Notice]:
    late = now.overdue_seconds
    if links.sight.scheduled and late is not None and late > LATE_SECONDS:
        yield Notice("danger", f"Messages for later are {words.lasting(late)} late.", links.scheduled(due="overdue"))


# A paused channel is said once, not again for its consumers.
_HELD = {
    "disabled": ("danger", "disabled", "disabled"),
    "open": ("warning", "held by an open breaker", "breaker"),
    "paused": ("warning", "paused", "paused"),
}


def _held(now: Now, links: Links) -> Iterator[Notice]:
    states = Counter(one.state for one in now.consumers)
    for state, (tone, word, kind) in _HELD.items() if links.sight.consumers else ():
        if states[state]:
            some = f"{states[state]} consumers are" if states[state] > 1 else "A consumer is"
            yield Notice(tone, f"{some} {word}.", links.consumers(delivery=kind))
    if now.paused_channels and links.sight.channels:
        named = ", ".join(now.paused_channels[:MOST_NAMED])
        more = " and others" if len(now.paused_channels) > MOST_NAMED else ""
        yield Notice("warning", f"Paused: {named}{more}.", links.channels(delivery="paused"))


def _letters(series: Series, now: Now, links: Links) -> Iterator[Notice]:
    growth = growth_of(series, now)
    if links.sight.letters and growth and growth > 0:
        some = f"{words.counted(growth)} more dead letters are" if growth > 1 else "One more dead letter is"
        yield Notice("warning", f"{some} open than at the start of this time.", links.growth())
