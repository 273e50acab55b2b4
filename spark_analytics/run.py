"""One run: a session, the roll-ups of the lake and of what is not in it yet, all reports, the page."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from spark_analytics.asked import Asked
from spark_analytics.facts import Facts
from spark_analytics.gathered import Gathered, check, gather
from spark_analytics.progress import Meter, Tell
from spark_analytics.render import Heading, Result, Writer
from spark_analytics.render.values import Row
from spark_analytics.reports import REPORTS, Report
from spark_analytics.session import for_small_tables, open_session
from spark_analytics.settings import from_environment

# Most of a small report's time is planning, which is one thread's work: two have both cores of a laptop.
AT_ONCE = 2
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def run(asked: Asked, directory: Path, tell: Tell, *, compares: bool) -> Path:
    """Where the page is. The session stays open for the next run of this process."""
    settings = from_environment()
    check(settings, asked.channels)
    periods = 2 if compares else 1
    with Meter(2 + periods * len(REPORTS), tell).running() as meter:
        spark = for_small_tables(open_session())
        meter.watch(spark.sparkContext)
        meter.step("looking at the lake")
        start = asked.before.start if compares else asked.start
        gathered = gather(spark, settings, start, asked.end)
        with Writer(directory, _heading(asked, gathered, compares=compares)) as writer:
            results = painted(results_of(spark, gathered, asked, meter), writer)
            if compares:
                before = list(results_of(spark, gathered, asked.before, meter, "{}, the period before"))
                results = [replace(now, before=then.rows) for now, then in zip(results, before, strict=True)]
            meter.step("drawing")
            path = writer.finish(results)
        meter.finish()
    return path


def painted(found: Generator[Result], writer: Writer) -> list[Result]:
    """After an error, what still runs is ended at once, not when somebody forgets the error."""
    with closing(found):
        results = []
        for result in found:
            writer.paint(result)
            results.append(result)
    return results


def results_of(
    spark: SparkSession, gathered: Gathered, asked: Asked, meter: Meter, words: str = "{}"
) -> Generator[Result]:
    """In their order, each as soon as it and those before it are there. `words` tell of one under way, by its title."""
    facts = Facts.of(spark, gathered.rollups, gathered.names, asked).kept()

    def result_of(report: Report) -> Result:
        meter.step(words.format(report.TITLE.lower()))
        rows = report.build(facts, asked)
        return Result(report.NAME, report.TITLE, report.ABOUT, report.KEYS, tuple(rows.columns), collected(rows))

    try:
        with ThreadPoolExecutor(AT_ONCE) as threads:
            yield from threads.map(result_of, REPORTS)
    finally:
        facts.release()


def collected(rows: DataFrame) -> list[Row]:
    """Moments as whole microseconds on the way: PySpark would make them local times, where an hour may be twice."""
    moments = {field.name for field in rows.schema.fields if isinstance(field.dataType, TimestampType)}
    sent = rows.select(*(F.unix_micros(name).alias(name) if name in moments else name for name in rows.columns))
    return [_plain(row.asDict(), moments) for row in sent.collect()]


def _plain(row: dict[str, Any], moments: set[str]) -> Row:
    return {
        name: _EPOCH + timedelta(microseconds=value) if name in moments and value is not None else value
        for name, value in row.items()
    }


def _heading(asked: Asked, gathered: Gathered, *, compares: bool) -> Heading:
    return Heading(
        start=asked.start,
        end=asked.end,
        made_at=datetime.now(UTC),
        channels=asked.channels,
        sla_seconds=asked.sla_seconds,
        widened=asked.widened,
        compares=compares,
        stale=gathered.stale,
    )
