"""The door to Spark. Only a `reports` worker goes through it: no other process has the libraries."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings

Hear = Callable[[float, str], None]


def make(asked: dict[str, Any], directory: Path, hear: Hear) -> None:
    """All reports, with the session that the last run has left open."""
    # Only here: pyspark is not installed where the other processes run.
    from spark_analytics.arguments import asked_in  # noqa: PLC0415
    from spark_analytics.run import run  # noqa: PLC0415

    os.environ.setdefault("DATABASE_URL", settings.DATABASE_URL)
    run(asked_in(asked), directory, lambda told: hear(told.share, told.words), compares=asked["compare"])


def bring_in() -> None:
    """The days that are over go into the lake, from where they may be pruned."""
    from spark_analytics.lake.export import export  # noqa: PLC0415
    from spark_analytics.session import open_session  # noqa: PLC0415
    from spark_analytics.settings import from_environment  # noqa: PLC0415

    os.environ.setdefault("DATABASE_URL", settings.DATABASE_URL)
    for _ in export(open_session(), from_environment(), everything=False, now=datetime.now(UTC)):
        pass
