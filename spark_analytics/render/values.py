"""What is rendered: the figures of each report, and what was asked for."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Result:
    """One report. `before` has the rows of the period before, where a comparison was asked for.

    Rows of the two belong together where their `keys` are the same.
    """

    name: str
    title: str
    about: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    rows: list[Row]
    before: list[Row] | None = None


@dataclass(frozen=True)
class Heading:
    """What was asked for. `start` and `end` are whole hours, `end` excluded; `widened` says that others were asked."""

    start: datetime
    end: datetime
    made_at: datetime
    channels: tuple[str, ...] = ()
    sla_seconds: float = 60.0
    widened: bool = False
    compares: bool = False
    # Slices of the lake that changed since they were exported.
    stale: int = 0

    @property
    def length(self) -> timedelta:
        return self.end - self.start


def moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def written(value: Any) -> str:
    """A figure as people read it; what is not there is a dash."""
    match value:
        case None:
            return "-"
        case datetime():
            return moment(value)
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:,.4g}"
        case _:
            return str(value)


def percent(share: float | None) -> str:
    return written(None) if share is None else f"{written(100 * share)}%"


def exact(value: Any) -> Any:
    """As JSON and CSV have it: moments in RFC 3339."""
    return f"{value:%Y-%m-%dT%H:%M:%SZ}" if isinstance(value, datetime) else value
