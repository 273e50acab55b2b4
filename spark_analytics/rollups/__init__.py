"""Roll-ups: what is kept of each hour, a pure function a table."""

from collections.abc import Callable

from pyspark.sql import DataFrame

ROLLUPS: dict[str, Callable[[DataFrame], DataFrame]] = {}
