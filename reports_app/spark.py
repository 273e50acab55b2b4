"""The door to Spark. Only a `reports` worker goes through it: no other process has the libraries."""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

Hear = Callable[[float, str], None]


class NotBroughtIn(Exception):
    """An export that did not come about for a reason that has words, and that the next one may not have."""


def make(asked: dict[str, Any], directory: Path, hear: Hear) -> None:
    """All reports, with the session that the last run has left open."""
    # Only here: pyspark is not installed where the other processes run.
    from spark_analytics.arguments import asked_in  # noqa: PLC0415
    from spark_analytics.run import run  # noqa: PLC0415

    run(asked_in(asked), directory, lambda told: hear(told.share, told.words), compares=asked["compare"])


def bring_in(hear: Hear) -> None:
    """The days that are over go into the lake; what is there may be pruned from the database."""
    from spark_analytics.errors import ReportError  # noqa: PLC0415
    from spark_analytics.lake.export import export  # noqa: PLC0415
    from spark_analytics.session import open_session  # noqa: PLC0415
    from spark_analytics.settings import from_environment  # noqa: PLC0415
    from spark_analytics.tables import TABLES  # noqa: PLC0415

    hear(0.0, "bringing history into the lake")
    try:
        tables = export(open_session(), from_environment(), everything=False, now=datetime.now(UTC))
        for number, done in enumerate(tables, 1):
            hear(number / len(TABLES), f"{done.table.name} is in the lake")
    except ReportError as error:
        raise NotBroughtIn(str(error)) from error


def hours(start: date, end: date, edges: Sequence[float]) -> list[dict[str, Any]]:
    """What the lake's roll-ups say of these days, by the hour."""
    from spark_analytics.hourly import hours as found  # noqa: PLC0415
    from spark_analytics.session import open_session  # noqa: PLC0415
    from spark_analytics.settings import from_environment  # noqa: PLC0415

    return [vars(hour) for hour in found(open_session(), from_environment(), start, end, edges)]
