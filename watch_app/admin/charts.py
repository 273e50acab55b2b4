"""Series as pictures: lines of SVG in a box that the page stretches, and what they show in words.

The page's script draws the same from the same columns (static/watch_app/charts.js): here for the first look, and for
those without scripts.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from watch_app.admin import words
from watch_app.admin.sight import Sight
from watch_app.values import Percentiles, Point, Series, Span

WIDTH, HEIGHT = 600, 120
TICKS = 4
# How seconds of a step make a count a rate.
_RATES = {"per second": 1.0, "per minute": 60.0}

NOTHING = "Nothing was measured in this time."
NOT_YET = "The first step of this picture is not over yet."

# Half of what is counted is not written below one.
LEAST_TOP = {"count": 2.0}

Column = Sequence[float | None]


@dataclass(frozen=True)
class Line:
    """`look` is its colour and dashes, in the stylesheet."""

    key: str
    title: str
    look: str


@dataclass(frozen=True)
class Plan:
    name: str
    title: str
    unit: str
    lines: tuple[Line, ...]


def _percentiles(kind: str) -> tuple[Line, ...]:
    return tuple(Line(f"{kind}_{name}", name, name) for name in ("p50", "p95", "p99"))


PLANS = (
    Plan(
        "throughput",
        "Throughput",
        "per second",
        (Line("accepted", "accepted", "in"), Line("delivered", "delivered", "out")),
    ),
    Plan(
        "failures", "Failures", "per minute", (Line("failed", "failed tries", "failed"), Line("dead", "died", "dead"))
    ),
    Plan("latency", "Delivery latency", "seconds", _percentiles("latency")),
    Plan("lag", "Scheduler lag", "seconds", _percentiles("lag")),
    Plan("waiting", "Waiting", "count", (Line("queued", "queued", "queued"), Line("in_flight", "in flight", "flight"))),
    Plan("letters", "Dead letters", "count", (Line("letters", "open", "dead"),)),
)


@dataclass(frozen=True)
class Drawn:
    line: Line
    path: str
    latest: str


@dataclass(frozen=True)
class Chart:
    plan: Plan
    lines: Sequence[Drawn]
    top: str
    half: str
    label: str
    is_empty: bool
    nothing: str


def plans(sight: Sight) -> list[Plan]:
    return [plan for plan in PLANS if plan.name != "letters" or sight.letters]


def charts(series: Series, at: datetime, sight: Sight) -> list[Chart]:
    steps = whole(series)
    found = columns(steps, sight)
    seconds = series.span.step.total_seconds()
    is_open = bool(steps) and series.span.end > at
    return [
        drawn(
            plan,
            {line.key: _values(plan, found[line.key], seconds, is_open) for line in plan.lines},
            NOT_YET if is_open and plan.unit in _RATES and steps[-1] else NOTHING,
        )
        for plan in plans(sight)
    ]


def whole(series: Series) -> list[Point | None]:
    """Every step of the span, those without a point too: time goes on evenly in a picture."""
    points, span = {point.at: point for point in series.points}, series.span
    return [points.get(span.start + place * span.step) for place in range((span.end - span.start) // span.step)]


def columns(points: Sequence[Point | None], sight: Sight) -> dict[str, list[Any]]:
    """A list for each number; what the viewer may not see is not there."""
    counts = ["accepted", "delivered", "failed", "dead", "queued", "in_flight", *(["letters"] if sight.letters else [])]
    found: dict[str, list[Any]] = {name: [getattr(point, name, None) for point in points] for name in counts}
    for kind in ("latency", "lag"):
        found |= _spread(kind, [getattr(point, kind, None) for point in points])
    return found


def _spread(kind: str, measured: Sequence[Percentiles | None]) -> dict[str, list[float | None]]:
    names = ("p50", "p95", "p99")
    return {f"{kind}_{name}": [_rounded(getattr(one, name, None)) for one in measured] for name in names}


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)


def _values(plan: Plan, column: Column, step_seconds: float, is_open: bool) -> Column:
    if plan.unit not in _RATES:
        return column
    factor = _RATES[plan.unit] / step_seconds
    rates = [None if value is None else value * factor for value in column]
    # A step that has just begun would look like a fall.
    return [*rates[:-1], None] if is_open else rates


def drawn(plan: Plan, values: Mapping[str, Column], nothing: str) -> Chart:
    """`nothing` is what is said where there is no line."""
    there = [value for column in values.values() for value in column if value is not None]
    top = ceiling(max([LEAST_TOP.get(plan.unit, 0.0), *there]))
    lines = [_drawn(line, values[line.key], top, plan.unit) for line in plan.lines]
    told = [_told(line, values[line.key], plan.unit) for line in plan.lines]
    return Chart(
        plan=plan,
        lines=lines,
        top=written(top, plan.unit),
        half=written(top / 2, plan.unit),
        label=f"{plan.title}, {plan.unit}: {'; '.join(told)}.",
        is_empty=not there,
        nothing=nothing,
    )


def ceiling(most: float) -> float:
    """The next of 1, 2, 5, 10, 20, …, so that a picture does not jump with every number."""
    if most <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(most))
    return next(size * factor for factor in (1, 2, 5, 10) if size * factor >= most)


def _drawn(line: Line, column: Column, top: float, unit: str) -> Drawn:
    path = path_of(column, top)
    latest = next((value for value in reversed(column) if value is not None), None)
    return Drawn(line, path, written(latest, unit))


def path_of(column: Column, top: float) -> str:
    """The pen is lifted where nothing was measured."""
    across = WIDTH / max(len(column) - 1, 1)
    parts, is_down = [], False
    for place, value in enumerate(column):
        if value is not None:
            parts.append(f"{'L' if is_down else 'M'}{place * across:.1f} {HEIGHT - value / top * HEIGHT:.1f}")
            # A round cap makes a point of a line without length.
            parts += [] if is_down else ["h0"]
        is_down = value is not None
    return "".join(parts)


def _told(line: Line, column: Column, unit: str) -> str:
    there = [value for value in column if value is not None]
    if not there:
        return f"{line.title} not measured"
    latest, lowest, highest = (written(value, unit) for value in (there[-1], min(there), max(there)))
    return f"{line.title} now {latest}, lowest {lowest}, highest {highest}"


def written(value: float | None, unit: str) -> str:
    if value is None:
        return words.NOTHING
    if unit == "seconds":
        return words.lasting(value)
    return words.counted(round(value)) if value >= 10 or value == int(value) else f"{value:.3g}"


def ticks(span: Span) -> list[datetime]:
    """Times to write below the pictures, the first and the last among them."""
    return [span.start + (span.end - span.start) * place / TICKS for place in range(TICKS + 1)]
