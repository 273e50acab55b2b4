"""The reports, in the order of the page."""

from typing import Protocol

from pyspark.sql import DataFrame

from spark_analytics.asked import Asked
from spark_analytics.facts import Facts
from spark_analytics.reports import (
    dead_letter_growth,
    dead_letters,
    delivery,
    failing_consumers,
    heat_map,
    latency,
    lateness,
    producers,
    retries,
    scheduler_lag,
    sla,
    throughput,
)


class Report(Protocol):
    """What the module of a report has. Rows of two periods belong together where their KEYS are the same."""

    @property
    def NAME(self) -> str: ...
    @property
    def TITLE(self) -> str: ...
    @property
    def ABOUT(self) -> str: ...
    @property
    def KEYS(self) -> tuple[str, ...]: ...

    def build(self, facts: Facts, asked: Asked) -> DataFrame: ...


REPORTS: tuple[Report, ...] = (
    throughput,
    delivery,
    latency,
    sla,
    scheduler_lag,
    lateness,
    dead_letters,
    dead_letter_growth,
    failing_consumers,
    retries,
    producers,
    heat_map,
)
