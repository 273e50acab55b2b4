"""A picture for each report, by altair. A report without rows has none, and its table says so."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import altair as alt

from spark_analytics.render.values import Result, Row, exact

Spec = dict[str, Any]
# More lines than this are no picture; the table and the CSV have them all.
MOST_SERIES = 8
MOST_BARS = 20
HEIGHT = 260
BAR_HEIGHT = 22
DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
# Read apart by those who see colours differently, on white and on black.
COLOURS = ["#3b82c4", "#e08a1e", "#2fa37c", "#c8577f", "#8a6fd1", "#b59a1b", "#5aa9c9", "#d2604a"]


@dataclass(frozen=True)
class Drawn:
    """`note` says what the picture leaves out."""

    spec: Spec
    note: str = ""


@dataclass(frozen=True)
class Lines:
    """A figure over the hours, a line a series; `y` may be several figures of one series."""

    y: tuple[str, ...]
    title: str
    series: str | None = "channel"
    x: str = "hour"
    is_share: bool = False

    def draw(self, result: Result) -> Drawn:
        kept, note = _biggest(result.rows, self.series, self.y[0])
        rows = [
            {self.x: exact(row[self.x]), "value": row[name], "line": self._line(row, name)}
            for row in kept
            for name in self.y
        ]
        axis = alt.Axis(format="%") if self.is_share else alt.Axis(format="~s")
        chart = (
            _chart(rows)
            .mark_line(point=len(rows) < 100)
            .encode(  # type: ignore[attr-defined]
                x=alt.X(f"{self.x}:T", timeUnit="utcyearmonthdatehours", title="UTC", scale=alt.Scale(type="utc")),
                y=alt.Y("value:Q", title=self.title, axis=axis),
                color=alt.Color("line:N", title=None, scale=alt.Scale(range=COLOURS), legend=_legend(rows)),
                tooltip=[
                    alt.Tooltip(f"{self.x}:T", timeUnit="utcyearmonthdatehours", title="hour, UTC"),
                    alt.Tooltip("line:N", title="line"),
                    alt.Tooltip("value:Q", title=self.title, format=".2%" if self.is_share else ",.4~g"),
                ],
            )
        )
        return Drawn(_spec(chart, HEIGHT), note)

    def _line(self, row: Row, name: str) -> str:
        words = [str(row[self.series])] if self.series else []
        return " ".join([*words, name] if len(self.y) > 1 or not words else words)


@dataclass(frozen=True)
class Bars:
    """A figure per name, the biggest first; `colour` cuts each bar in parts."""

    y: str
    x: str
    title: str
    colour: str | None = None
    is_share: bool = False

    def draw(self, result: Result) -> Drawn:
        kept, note = _biggest(result.rows, self.y, self.x, MOST_BARS)
        rows = [{"name": str(row[self.y]), "value": row[self.x], "part": self._part(row)} for row in kept]
        colour = alt.Color("part:N", title=None, scale=alt.Scale(range=COLOURS), legend=_legend(rows))
        axis = alt.Axis(format="%") if self.is_share else alt.Axis(format="~s")
        chart = (
            _chart(rows)
            .mark_bar()
            .encode(  # type: ignore[attr-defined]
                y=alt.Y("name:N", title=None, sort="-x", axis=alt.Axis(labelLimit=160)),
                x=alt.X("value:Q", title=self.title, axis=axis),
                color=colour if self.colour else alt.value(COLOURS[0]),
                tooltip=[alt.Tooltip(f"{name}", title=title) for name, title in self._told()],
            )
        )
        return Drawn(_spec(chart, BAR_HEIGHT * (1 + len({row["name"] for row in rows}))), note)

    def _part(self, row: Row) -> str:
        return str(row[self.colour]) if self.colour else ""

    def _told(self) -> list[tuple[str, str]]:
        parts = [("part:N", self.colour)] if self.colour else []
        return [("name:N", self.y), *parts, ("value:Q", self.title)]


@dataclass(frozen=True)
class Heat:
    """How much in which hour of which day of the week, over all channels. Days are numbered from Monday."""

    value: str
    day: str = "day_of_week"
    hour: str = "hour_of_day"
    # What the report calls Monday.
    monday: int = 1

    def draw(self, result: Result) -> Drawn:
        sums: Counter[tuple[int, int]] = Counter()
        for row in result.rows:
            sums[row[self.day] - self.monday, row[self.hour]] += row[self.value] or 0
        rows = [{"day": DAYS[day], "hour": hour, "value": value} for (day, hour), value in sorted(sums.items())]
        chart = (
            _chart(rows)
            .mark_rect()
            .encode(  # type: ignore[attr-defined]
                x=alt.X("hour:O", title="hour of day, UTC", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
                y=alt.Y("day:O", title=None, sort=DAYS),
                color=alt.Color("value:Q", title=self.value, scale=alt.Scale(scheme="viridis")),
                tooltip=[
                    alt.Tooltip("day:O"),
                    alt.Tooltip("hour:O"),
                    alt.Tooltip("value:Q", title=self.value, format=","),
                ],
            )
        )
        return Drawn(_spec(chart, 200))


def _chart(rows: list[Row]) -> alt.Chart:
    return alt.Chart(alt.Data(values=rows))


def _spec(chart: Any, height: int) -> Spec:
    spec: Spec = chart.properties(width="container", height=height).to_dict()
    # The page and the pictures bring colours of their own.
    spec.pop("config", None)
    return {**spec, "autosize": {"type": "fit-x", "contains": "padding"}}


def _legend(rows: list[Row]) -> Any:
    """At the bottom, where a phone has room for it."""
    columns = 2 if any(len(str(row.get("line", row.get("part", "")))) > 12 for row in rows) else 4
    return alt.Legend(orient="bottom", columns=columns, labelLimit=150)


def _biggest(rows: list[Row], by: str | None, value: str, most: int = MOST_SERIES) -> tuple[list[Row], str]:
    """The rows of the names with the most of it."""
    if by is None:
        return rows, ""
    sums: Counter[Any] = Counter()
    for row in rows:
        sums[row[by]] += row[value] or 0
    if len(sums) <= most:
        return rows, ""
    kept = {name for name, _ in sums.most_common(most)}
    return [row for row in rows if row[by] in kept], f"The picture shows the first {most} of {len(sums)}."


Draw = Callable[[Result], Drawn]
DRAWN_BY: dict[str, Draw] = {}


def draw(result: Result) -> Drawn | None:
    drawn_by = DRAWN_BY.get(result.name)
    return drawn_by(result) if drawn_by and result.rows else None
