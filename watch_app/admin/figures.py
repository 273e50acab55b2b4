"""Series and how things stand, as single numbers: each has a name, which the page and the refresh share."""

from collections.abc import Sequence
from dataclasses import dataclass

from watch_app.admin import words
from watch_app.admin.sight import Sight
from watch_app.values import Due, Now, Percentiles, Series

# Below this share of tries that succeed, the number is marked.
LOW_SUCCESS, BAD_SUCCESS = 0.98, 0.9
LATE_SECONDS = 10.0


@dataclass(frozen=True)
class Figure:
    """`value` is the number itself; `tone` is "", "warning" or "danger"."""

    text: str
    value: float | None
    tone: str = ""


Figures = dict[str, Figure]


def figures(series: Series, now: Now, sight: Sight) -> Figures:
    return {
        **_traffic(series),
        **_spread("latency", series.totals.latency),
        **_spread("lag", series.totals.lag),
        **_standing(now),
        **(_later(now) if sight.scheduled else {}),
        **(_letters(series, now) if sight.letters else {}),
    }


def _traffic(series: Series) -> Figures:
    totals, seconds = series.totals, (series.span.end - series.span.start).total_seconds()
    counts = {name: getattr(totals, name) for name in ("accepted", "delivered", "failed", "dead")}
    return {
        **{name: Figure(words.counted(count), count) for name, count in counts.items()},
        "accepted_rate": Figure(words.paced(totals.accepted, seconds), totals.accepted / seconds),
        "delivered_rate": Figure(words.paced(totals.delivered, seconds), totals.delivered / seconds),
        "success_rate": Figure(words.percent(totals.success_rate), totals.success_rate, _success(totals.success_rate)),
        "retry_rate": Figure(words.percent(totals.retry_rate), totals.retry_rate),
    }


def _success(rate: float | None) -> str:
    if rate is None or rate >= LOW_SUCCESS:
        return ""
    return "warning" if rate >= BAD_SUCCESS else "danger"


def _spread(kind: str, measured: Percentiles) -> Figures:
    values = {name: getattr(measured, name) for name in ("p50", "p95", "p99")}
    return {f"{kind}_{name}": Figure(words.lasting(value), value) for name, value in values.items()}


def _standing(now: Now) -> Figures:
    oldest = max((one.oldest_waiting_seconds for one in now.consumers if one.oldest_waiting_seconds), default=None)
    return {
        "queued": Figure(words.counted(now.queued), now.queued),
        "in_flight": Figure(words.counted(now.in_flight), now.in_flight),
        "oldest_waiting": Figure(words.lasting(oldest), oldest),
    }


def _later(now: Now) -> Figures:
    late = now.overdue_seconds
    return {
        "scheduled": Figure(words.counted(now.scheduled), now.scheduled),
        "overdue": Figure(
            "none" if late is None else words.lasting(late), late, "danger" if late and late > LATE_SECONDS else ""
        ),
        "due_hour": _due(now.next_hour),
        "due_day": _due(now.next_day),
    }


def _due(spans: Sequence[Due]) -> Figure:
    count = sum(one.count for one in spans)
    more = any(one.is_about for one in spans)
    return Figure(f"{words.counted(count)}{'+' if more else ''}", count)


def _letters(series: Series, now: Now) -> Figures:
    growth = growth_of(series, now)
    return {
        "letters": Figure(words.counted(now.letters), now.letters, "warning" if now.letters else ""),
        "letters_growth": Figure(words.grown(growth), growth, "danger" if growth and growth > 0 else ""),
    }


def growth_of(series: Series, now: Now) -> int | None:
    """How many more are open than at the first look within the range."""
    return None if series.first_letters is None else now.letters - series.first_letters
