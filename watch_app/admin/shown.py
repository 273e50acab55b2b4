"""What the page shows, of values alone: tiles and pictures, lists, and the numbers that its script goes on with."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from watch_app.admin import sections
from watch_app.admin.asked import Asked
from watch_app.admin.charts import LEAST_TOP, Plan, charts, columns, plans, ticks
from watch_app.admin.figures import Figures, figures
from watch_app.admin.sight import Sight
from watch_app.admin.tiles import tiles
from watch_app.admin.verdict import notices
from watch_app.values import Event, Now, Series

# Written anew by every refresh; each is a template.
PARTS = ("verdict", "consumers", "due", "causes", "working", "depths", "ticker")


def first_look(series: Series, now: Now, events: Sequence[Event], chosen: Asked, sight: Sight) -> dict[str, Any]:
    found = figures(series, now, sight)
    return {
        **lists(series, now, events, chosen, sight),
        "tiles": tiles(found, chosen.scope, sight),
        "charts": charts(series, now.at, sight),
        "ticks": ticks(series.span),
        "numbers": {
            **numbers(series, now, found, sight),
            "plans": [_plan(plan) for plan in plans(sight)],
        },
        "at": now.at,
    }


def lists(series: Series, now: Now, events: Sequence[Event], chosen: Asked, sight: Sight) -> dict[str, Any]:
    """What the templates of the parts want."""
    return {
        "sight": sight,
        "notices": notices(series, now, chosen.scope, sight),
        "rows": sections.consumers(now, sight),
        "left_out": sections.left_out(now),
        "next_hour": sections.bars(now.next_hour) if sight.scheduled else [],
        "next_day": sections.bars(now.next_day) if sight.scheduled else [],
        "causes": sections.causes(now.causes, chosen.scope, sight) if sight.letters else [],
        "working": sections.parts(now),
        "depths": sections.depths(now),
        "events": sections.ticker(events, sight.events),
    }


def numbers(series: Series, now: Now, found: Figures, sight: Sight) -> dict[str, Any]:
    """What the page's script goes on with. Times are seconds since 1970."""
    span, points = series.span, series.points
    return {
        "at": now.at.timestamp(),
        "span": {"start": _seconds(span.start), "end": _seconds(span.end), "step": _step(series)},
        "points": {"at": [_seconds(point.at) for point in points], **columns(points, sight)},
        "figures": {name: asdict(figure) for name, figure in found.items()},
    }


def _plan(plan: Plan) -> dict[str, Any]:
    lines = [{"key": line.key, "title": line.title} for line in plan.lines]
    return {
        "name": plan.name,
        "title": plan.title,
        "unit": plan.unit,
        "least": LEAST_TOP.get(plan.unit, 0),
        "lines": lines,
    }


def _step(series: Series) -> int:
    return int(series.span.step.total_seconds())


def _seconds(at: datetime) -> int:
    return int(at.timestamp())
