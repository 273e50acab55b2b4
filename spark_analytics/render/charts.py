"""The kinds of pictures, by altair. They take plain rows; paper and ink are of the page that shows them."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from statistics import fmean
from typing import Any, Literal

import altair as alt

from spark_analytics.render.colours import COLOURS, Colours
from spark_analytics.render.values import Heading, Result, Row, exact

Spec = dict[str, Any]
# More lines or bars than this are no picture; the table and the CSV have them all.
MOST_LINES, MOST_BARS = 8, 20
HEIGHT, BAR_HEIGHT = 260, 24
# In pixels: what a phone has for a legend under lines, and for the names of bars beside them; in a legend, how wide a
# letter is, and a sign with the space around it.
PHONE, NAME, LETTER, SIGN = 280, 150, 5.5, 25
HOUR = timedelta(hours=1)
# Beyond, a point for each hour makes a heavy page, and a line that nobody can read.
LONG = timedelta(days=60)
# What a point stands for: its unit in Vega, and how the axis has it.
POINTS: dict[str, tuple[Any, str]] = {
    "hour": ("utcyearmonthdatehours", "%b %d %H:%M"),
    "day": ("utcyearmonthdate", "%b %d, %Y"),
}
DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
# What went well is calm, what did not is not.
MEANT = {"delivered": "#3b82c4", "succeeded": "#3b82c4", "dead": "#d2604a", "failed": "#d2604a", "open": "#b59a1b"}
# Vega leaves out only labels that touch, and a flush one is moved towards its neighbour.
APART: dict[str, Any] = {"labelOverlap": True, "labelSeparation": 10}
# Up to 2 Vega ticks the halves whatever the least step is.
WHOLE: dict[str, Any] = {"tickMinStep": 1, "format": ",d", "labelExpr": "datum.value % 1 ? '' : datum.label"}


@dataclass(frozen=True)
class Drawn:
    """`note` says what the picture leaves out."""

    spec: Spec
    note: str = ""


@dataclass(frozen=True)
class OfDay:
    """What the hours of a day come to, where a point is a day; `words` say it."""

    words: str
    of: Callable[[list[Any]], Any]


# What is counted stays a figure of an hour; of what was measured the worst shows.
MEAN = OfDay("the mean of its hours", fmean)
HIGHEST = OfDay("its highest hour", max)
LAST = OfDay("its last hour", itemgetter(-1))


@dataclass(frozen=True)
class Lines:
    """A figure over the hours, a line for each channel."""

    value: str
    title: str
    # What it is in an hour without a row; where nothing can be said, the line goes straight on.
    otherwise: float | None = None
    # Of what stays as it is until it changes.
    steps: bool = False
    of_day: OfDay = HIGHEST

    def draw(self, result: Result, heading: Heading, colours: Colours) -> Drawn:
        kept, note = biggest(result.rows, ("channel",), self.value, MOST_LINES)
        hours, each = self._filled(kept, heading), "hour"
        if heading.length > LONG:
            hours, each = self._by_day(hours), "day"
            note = f"{note} A point is a day: {self.of_day.words}.".strip()
        rows = [_point(row["hour"], row["channel"], row[self.value]) for row in hours]
        shape: Literal["step-after", "linear"] = "step-after" if self.steps else "linear"
        chart = _chart().mark_line(interpolate=shape, point=len(rows) < 60)
        return Drawn(_spec(self._encoded(chart, rows, each, colours), rows, HEIGHT), note)

    def _encoded(self, chart: alt.Chart, rows: list[Row], each: str, colours: Colours) -> alt.Chart:
        unit, shown = POINTS[each]
        return chart.encode(
            x=alt.X("hour:T", timeUnit=unit, title="UTC", axis=alt.Axis(format=shown, **APART)),
            y=alt.Y("value:Q", title=self.title, axis=_axis(rows)),
            color=_colour("name", colours.of("channel", _by_weight(rows, "name"))),
            tooltip=[
                alt.Tooltip("hour:T", timeUnit=unit, title=f"{each}, UTC"),
                alt.Tooltip("name:N", title="channel"),
                alt.Tooltip("value:Q", title=self.title, format=",.5~g"),
            ],
        )

    def _filled(self, rows: list[Row], heading: Heading) -> list[Row]:
        channels = sorted({row["channel"] for row in rows})
        until = min(heading.end, heading.made_at)
        count = max(0, (until - heading.start) // HOUR)
        if self.otherwise is None:
            return rows
        known = {(row["hour"], row["channel"]) for row in rows}
        hours = [heading.start + place * HOUR for place in range(count)]
        missing = ((hour, channel) for hour in hours for channel in channels if (hour, channel) not in known)
        return rows + [{"hour": hour, "channel": channel, self.value: self.otherwise} for hour, channel in missing]

    def _by_day(self, rows: list[Row]) -> list[Row]:
        """Hours of which nothing can be said say nothing of their day."""
        days: dict[tuple[datetime, str], list[Any]] = {}
        for row in rows:
            if row[self.value] is not None:
                days.setdefault((row["hour"].replace(hour=0), row["channel"]), []).append(row[self.value])
        return [
            {"hour": day, "channel": channel, self.value: self.of_day.of(values)}
            for (day, channel), values in days.items()
        ]


@dataclass(frozen=True)
class Bars:
    """A bar for each name, in the report's order; several values, or the values of a column, are its parts."""

    names: tuple[str, ...]
    values: tuple[str, ...]
    title: str
    parts: str = ""
    is_share: bool = False

    def draw(self, result: Result, heading: Heading, colours: Colours) -> Drawn:
        kept, note = self._kept(result.rows)
        rows = [
            {
                "name": _joined(row, self.names),
                "value": row[value],
                "part": str(row[self.parts]) if self.parts else value,
            }
            for row in kept
            for value in self.values
        ]
        chart = self._encoded(_chart().mark_bar(), rows, colours)
        return Drawn(_spec(chart, rows, BAR_HEIGHT * len({row["name"] for row in rows}) + 10), note)

    def _kept(self, rows: list[Row]) -> tuple[list[Row], str]:
        """A report of shares begins with the worst: these are what it is looked at for."""
        if not self.is_share:
            return biggest(rows, self.names, self.values[0], MOST_BARS)
        return rows[:MOST_BARS], _left_out(MOST_BARS, len(rows))

    def _encoded(self, chart: alt.Chart, rows: list[Row], colours: Colours) -> alt.Chart:
        axis = alt.Axis(format="%", **APART) if self.is_share else _axis(rows)
        return chart.encode(
            y=alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelLimit=NAME)),
            x=alt.X("value:Q", title=self.title, axis=axis),
            color=self._coloured(rows, colours, _beside_names(rows)),
            # As they stand in the legend.
            order=alt.Order("part:O"),
            tooltip=[
                alt.Tooltip("name:N", title=", ".join(self.names)),
                alt.Tooltip("part:N", title=self.parts or "figure"),
                alt.Tooltip("value:Q", title=self.title, format=".2%" if self.is_share else ",.5~g"),
            ],
        )

    def _coloured(self, rows: list[Row], colours: Colours, room: float) -> alt.Color | alt.ColorValue:
        if self.parts:
            # A consumer's main reason is a reason.
            kind = self.parts.removeprefix("main_")
            return _colour("part", colours.of(kind, _by_weight(rows, "part")), room)
        if len(self.values) == 1:
            return alt.ColorValue(COLOURS[0])
        return _colour("part", {name: MEANT[name] for name in self.values}, room)


@dataclass(frozen=True)
class Heat:
    """How much in which hour of which day of the week. Monday is 1."""

    value: str
    title: str

    def draw(self, result: Result, heading: Heading, colours: Colours) -> Drawn:
        rows = [
            {"day": DAYS[row["day_of_week"] - 1], "hour": row["hour_of_day"], "value": row[self.value]}
            for row in result.rows
        ]
        chart = _chart().mark_rect()
        encoded = chart.encode(
            x=alt.X(
                "hour:O",
                title="hour of the day, UTC",
                axis=alt.Axis(labelAngle=0, labelOverlap=True, labelSeparation=4),
            ),
            y=alt.Y("day:O", title=None, sort=DAYS),
            color=alt.Color(
                "value:Q", title=self.title, scale=alt.Scale(scheme="viridis"), legend=alt.Legend(orient="bottom")
            ),
            tooltip=[
                alt.Tooltip("day:O", title="day"),
                alt.Tooltip("hour:O", title="hour, UTC"),
                alt.Tooltip("value:Q", title=self.title, format=",.5~g"),
            ],
        )
        return Drawn(_spec(encoded, rows, 200))


def biggest(rows: list[Row], names: tuple[str, ...], value: str, most: int) -> tuple[list[Row], str]:
    """The rows of the names with the most of it, and a word about the others."""
    sums: Counter[str] = Counter()
    for row in rows:
        sums[_joined(row, names)] += row[value] or 0
    kept = {name for name, _ in sums.most_common(most)}
    return [row for row in rows if _joined(row, names) in kept], _left_out(most, len(sums))


def _left_out(most: int, count: int) -> str:
    return f"The picture shows {most} of {count:,}." if count > most else ""


def _chart() -> alt.Chart:
    return alt.Chart(alt.Data(values=[]))  # type: ignore[no-untyped-call]


def _joined(row: Row, names: tuple[str, ...]) -> str:
    return " / ".join(str(row[name]) for name in names)


def _point(hour: Any, name: str, value: Any) -> Row:
    return {"hour": exact(hour), "name": name, "value": value}


def _axis(rows: list[Row]) -> alt.Axis:
    """Of counts there is no half."""
    counts = all(isinstance(row["value"], int | None) for row in rows)
    return alt.Axis(**APART, **WHOLE) if counts else alt.Axis(**APART)


def _by_weight(rows: list[Row], field: str) -> list[str]:
    weights: Counter[str] = Counter()
    for row in rows:
        weights[row[field]] += row["value"] or 0
    return [name for name, _ in weights.most_common()]


def _colour(field: str, given: dict[str, str], room: float = PHONE) -> alt.Color:
    names = sorted(given)
    scale = alt.Scale(domain=names, range=[given[name] for name in names])
    legend = alt.Legend(orient="bottom", columns=fitting(names, room), labelLimit=room - SIGN)
    return alt.Color(f"{field}:N", title=None, scale=scale, legend=legend)


def _beside_names(rows: list[Row]) -> float:
    """A legend begins where the bars do."""
    longest = max((len(row["name"]) for row in rows), default=0)
    return PHONE + SIGN + SIGN - min(NAME, LETTER * longest)


def fitting(names: list[str], room: float) -> int:
    """Columns of a legend. Vega would have to know the width before it draws to count them itself."""
    for count in range(len(names), 1, -1):
        widest = [max(map(len, names[place::count])) for place in range(count)]
        if sum(LETTER * letters + SIGN for letters in widest) <= room:
            return count
    return 1


def _spec(chart: alt.Chart, rows: list[Row], height: int) -> Spec:
    """The rows are put in last: altair would check each of them."""
    spec: Spec = chart.properties(width="container", height=height).to_dict()
    spec.pop("config", None)
    return {**spec, "data": {"values": rows}, "autosize": {"type": "fit-x", "contains": "padding"}}
