"""The way of history into the lake. A slice is read of one snapshot, written aside, measured, and made live by a row.

A run that dies leaves files that no row names; the next run begins where the rows end.
"""

from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import psycopg
from psycopg import Connection
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_analytics import manifest, snapshot, source
from spark_analytics.errors import ReportError
from spark_analytics.lake import lost, measure, owner, plan, read, settled
from spark_analytics.lake.places import Lake, run_name, slice_name
from spark_analytics.manifest import Ids, Mark, Measured, Slice
from spark_analytics.rollups import rolled_up
from spark_analytics.settings import Settings
from spark_analytics.tables import TABLES, Table

LOCK = 0x6C616B65
TRIES = 3


class ExportRuns(ReportError):
    """Another export is running."""


class SliceChanged(ReportError):
    """A slice was pruned while it was exported anew, time and again. The next export will do it."""


@dataclass(frozen=True)
class Exported:
    """What a run did to a table."""

    table: Table
    slices: int
    again: int
    rows: int


@dataclass(frozen=True)
class Run:
    """`connection` holds the lock: whoever has lost the lock cannot make a slice live either."""

    spark: SparkSession
    settings: Settings
    connection: Connection
    name: str

    @property
    def lake(self) -> Lake:
        return Lake(self.spark, self.settings.lake_url)

    def asked(self, table: Table) -> Table:
        """With payloads, if they are asked for. A slice that has them keeps them."""
        return table.wide() if self.settings.payloads else table

    def lacks_payloads(self, table: Table, one: Slice) -> bool:
        return self.asked(table).is_wide and not one.columns_of(table).is_wide


@dataclass(frozen=True)
class Work:
    """What there is to do for a table. The marks are those that all of it will have answered."""

    table: Table
    fresh: list[Ids]
    dirty: list[Slice]
    marks: list[Mark]


def export(spark: SparkSession, settings: Settings, *, everything: bool, now: datetime) -> Iterator[Exported]:
    """What is closed, or everything there is; a table at a time."""
    with alone(settings.database_url) as connection:
        run = Run(spark, settings, connection, run_name(now))
        _look_after(run, now)
        work = _plan(run, everything=everything, now=now)
        settled.wait_for_writers(connection)
        settled.wait_for_replica(connection, settings.reads_url)
        for one in work:
            yield _do(run, one)


def _look_after(run: Run, now: datetime) -> None:
    """That it is our lake and whole, before anything is written or removed."""
    live = [one for table in TABLES for one in manifest.slices(run.connection, table)]
    listed = run.lake.listed()
    owner.check(run.connection, run.lake, listed, live)
    lost.mark(run.connection, run.lake, listed, live)
    owner.sign(run.connection, run.lake)
    run.lake.remove_rubbish(live, listed, now)


@contextmanager
def alone(url: str) -> Iterator[Connection]:
    with psycopg.connect(url, autocommit=True) as connection:
        if connection.execute("SELECT pg_try_advisory_lock(%s)", [LOCK]).fetchone() != (True,):
            raise ExportRuns
        try:
            yield connection
        finally:
            # By itself a server lets go of it a moment after its client has left.
            with suppress(psycopg.Error):
                connection.execute("SELECT pg_advisory_unlock(%s)", [LOCK])


def _plan(run: Run, *, everything: bool, now: datetime) -> list[Work]:
    """With the watermark raised over all of it: from now on, changes of these rows leave marks."""
    work = []
    for table in TABLES:
        fresh = plan.fresh(run.connection, table)
        if not everything:
            fresh = plan.closed(run.connection, table, fresh, now.astimezone(UTC).date())
        if fresh:
            manifest.raise_watermark(run.connection, table, fresh[-1].last)
        marks = manifest.marks(run.connection, table)
        live = manifest.slices(run.connection, table)
        touched = plan.dirty(live, marks)
        dirty = [one for one in live if one in touched or run.lacks_payloads(table, one)]
        work.append(Work(table, fresh, dirty, marks))
    return work


def _do(run: Run, work: Work) -> Exported:
    """Marks go last: if it ends before, it is done again."""
    rows = sum(_export_again(run, work.table, old) for old in work.dirty)
    rows += sum(_export_new(run, work.table, work.fresh))
    manifest.forget(run.connection, work.marks)
    return Exported(work.table, len(work.fresh), len(work.dirty), rows)


def _export_new(run: Run, table: Table, fresh: list[Ids]) -> Iterator[int]:
    """They go live in their order: a run that dies leaves no gap."""
    asked = run.asked(table)
    with closing(_written(run, asked, fresh)) as written:
        for ids, path in zip(fresh, written, strict=True):
            measured = _finish(run, asked, path)
            manifest.add(run.connection, table, ids, path, measured)
            yield measured.row_count


def _written(run: Run, table: Table, fresh: list[Ids]) -> Generator[str]:
    """The path of each. The next is written while whoever asked is busy with this one: half of the cores read."""

    def write(ids: Ids) -> str:
        path = slice_name(ids, run.name, table)
        _write(run, table, ids, path)
        return path

    with ThreadPoolExecutor(1) as writer:
        under_way: list[Future[str]] = []
        for ids in fresh:
            written = [one.result() for one in under_way]
            under_way = [writer.submit(write, ids)]
            yield from written
        yield from (one.result() for one in under_way)


def _export_again(run: Run, table: Table, old: Slice) -> int:
    asked = run.asked(old.columns_of(table))
    for attempt in range(TRIES):
        path = slice_name(old.ids, f"{run.name}{attempt}", asked)
        _write(run, asked, old.ids, path)
        if old.pruned_at:
            _keep_pruned(run, asked, old, path)
        measured = _finish(run, asked, path)
        if manifest.replace(run.connection, old, path, measured):
            return measured.row_count
        [old] = [one for one in manifest.slices(run.connection, table) if one.id == old.id]
    raise SliceChanged


def _write(run: Run, table: Table, ids: Ids, path: str) -> None:
    """Each part is of one moment. What changes between two of them leaves a mark, and the slice is exported anew."""
    for part in plan.parts(run.settings.reads_url, table, ids):
        _write_part(run, table, part, path)


def _write_part(run: Run, table: Table, ids: Ids, path: str) -> None:
    """Its readers are counted once: executors may come meanwhile."""
    url, readers = run.settings.reads_url, source.readers_of(run.spark)
    with snapshot.shared(url, readers=len(source.ranges(ids.first, ids.last, readers))) as label:
        reading = source.Reading(url, table, ids.first, ids.last, label)
        _save(source.read(run.spark, reading, readers), table, run.lake.rows(table, path))


def _save(rows: DataFrame, table: Table, path: str) -> None:
    """Appended to what is there of this run: a directory of another one never has this name."""
    by_day = rows.withColumn("day", F.to_date(table.day))
    by_day.write.mode("append").partitionBy("day").parquet(path)


def _keep_pruned(run: Run, table: Table, old: Slice, path: str) -> None:
    """Rows that have left the database are in the old version alone."""
    ids = read.rows(run.lake, table, [path]).select("id")
    kept = read.rows(run.lake, table, [old.path]).join(ids, "id", "left_anti")
    _save(kept.drop("day"), table, run.lake.rows(table, path))


def _finish(run: Run, table: Table, path: str) -> Measured:
    """From what was written, not from what was meant. Roll-ups have the amounts of their rows in them, which spares
    a second look at all rows; reports do not read these columns.
    """
    rows, rollup = read.rows(run.lake, table, [path]), run.lake.rollup(table, path)
    rolled_up(table.name, rows, *measure.amounts(table)).coalesce(1).write.mode("overwrite").parquet(rollup)
    return measure.added_up(run.spark.read.schema(measure.SCHEMA).parquet(rollup))
