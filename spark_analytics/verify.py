"""Proves that the lake is the database: every slice's rows, as its files have them and as PostgreSQL has them.

And that nothing else is in the database: rows that lie in no slice are counted.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum

import psycopg
from psycopg import Connection
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from spark_analytics import manifest, source
from spark_analytics.lake import plan, read, settled
from spark_analytics.lake.checksum import in_spark, in_sql
from spark_analytics.lake.measure import SCHEMA, added_up, amounts
from spark_analytics.lake.places import Lake
from spark_analytics.manifest import Ids, Slice
from spark_analytics.settings import Settings
from spark_analytics.tables import TABLES, Table

# How many rows, and their checksum.
Amounts = tuple[int, int]
# Reading a slice as a whole takes seconds; the broker's own limit is not meant for it.
_NO_LIMIT = "SET statement_timeout = 0"


class Found(StrEnum):
    EQUAL = "equal"
    # Marks say so: the next export brings it.
    CHANGED = "changed since"
    DIFFERENT = "different"
    # Files are missing, or are no Parquet.
    UNREADABLE = "unreadable"
    # In no slice: of days that are over, and of those that an export leaves alone.
    MISSING = "rows missing"
    WAITING = "rows not exported yet"


@dataclass(frozen=True)
class Verified:
    """A slice, or rows that are in none."""

    table: Table
    ids: Ids
    rows: int
    found: Found


@dataclass(frozen=True)
class Days:
    """Both included. Those before `today` are over."""

    start: date
    end: date
    today: date


@dataclass(frozen=True)
class Check:
    """`connection` reads the rows; `primary` the manifest."""

    lake: Lake
    settings: Settings
    primary: Connection
    connection: Connection
    days: Days


def verify(
    spark: SparkSession, settings: Settings, start: date = date.min, end: date = date.max, *, now: datetime
) -> Iterator[Verified]:
    """The slices with rows of these days, both included, and the rows of these days that are in no slice."""
    with (
        psycopg.connect(settings.database_url, autocommit=True) as primary,
        psycopg.connect(settings.reads_url, autocommit=True) as connection,
    ):
        settled.wait_for_replica(primary, settings.reads_url)
        connection.execute(_NO_LIMIT)
        days = Days(start, end, now.astimezone(UTC).date())
        check = Check(Lake(spark, settings.lake_url), settings, primary, connection, days)
        for table in TABLES:
            for one in _chosen(check, table):
                yield _verified(check, table, one)
            yield from _outside(check, table)


def _chosen(check: Check, table: Table) -> list[Slice]:
    """One without rows belongs to every day: the database must have none there either."""
    live = manifest.slices(check.primary, table)
    return [one for one in live if one.row_count == 0 or read.overlaps(one, check.days.start, check.days.end)]


def _outside(check: Check, table: Table) -> list[Verified]:
    """What an export brings in meanwhile is in a slice: then it is counted again."""
    while True:
        gaps = _gaps(check, table)
        found = [one for ids in gaps if ids.first <= ids.last for one in _in_no_slice(check, table, ids)]
        if not found or _gaps(check, table)[:-1] == gaps[:-1]:
            return found


def _gaps(check: Check, table: Table) -> list[Ids]:
    """Before, between and after the slices; the last has no end, but that of the newest row."""
    live = manifest.slices(check.primary, table)
    begins = [0, *(one.last_id + 1 for one in live)]
    ends = [*(one.first_id - 1 for one in live), max(begins[-1], plan.newest(check.primary, table))]
    return [Ids(first, last) for first, last in zip(begins, ends, strict=True)]


def _in_no_slice(check: Check, table: Table, ids: Ids) -> list[Verified]:
    days = check.days
    told = [days.today, days.today, ids.first, ids.last, days.start, days.end]
    over, waits = check.connection.execute(
        f"SELECT count(*) FILTER (WHERE day < %s), count(*) FILTER (WHERE day >= %s) FROM {table.rows},"  # noqa: S608
        f" LATERAL (SELECT ({table.day_sql} AT TIME ZONE 'UTC')::date AS day) AS dated"
        f" WHERE {table.id_sql} BETWEEN %s AND %s AND day BETWEEN %s AND %s",
        told,
    ).fetchone() or (0, 0)
    counted = {Found.MISSING: over, Found.WAITING: waits}
    return [Verified(table, ids, rows, found) for found, rows in counted.items() if rows]


def _verified(check: Check, table: Table, one: Slice) -> Verified:
    """What was exported anew, or pruned, meanwhile is looked at again."""
    while True:
        found = _found(check, one.columns_of(table), one)
        [now] = [live for live in manifest.slices(check.primary, table) if live.id == one.id]
        if found is Found.EQUAL or (now.path, now.pruned_at) == (one.path, one.pruned_at):
            return Verified(table, now.ids, now.row_count, found)
        one = now


def _found(check: Check, table: Table, one: Slice) -> Found:
    try:
        rows = read.rows(check.lake, table, [one.path])
        said = {_amounts(rows.agg(*amounts(table))), *_said_by_rollup(check.lake, table, one)}
    except PySparkException:
        return Found.UNREADABLE
    if said != {(one.row_count, one.checksum)}:
        return Found.DIFFERENT
    if _is_in_database(check, table, one, rows):
        return Found.EQUAL
    # Asked last: the mark of a change that was seen is there by now.
    marked = any(mark.touches(one.ids) for mark in manifest.marks(check.primary, table))
    return Found.CHANGED if marked else Found.DIFFERENT


def _said_by_rollup(lake: Lake, table: Table, one: Slice) -> list[Amounts]:
    """Of which rows it is: whether it adds them up rightly is for tests to show. Those of older versions do not say."""
    parts = lake.spark.read.schema(SCHEMA).parquet(lake.rollup(table, one.path))
    return [_amounts(parts)] if parts.where("slice_rows IS NULL").isEmpty() else []


def _amounts(parts: DataFrame) -> Amounts:
    measured = added_up(parts)
    return measured.row_count, measured.checksum


def _is_in_database(check: Check, table: Table, one: Slice, rows: DataFrame) -> bool:
    if one.pruned_at:
        return _has_all(check, table, one, rows)
    return _in_database(check.connection, table, one) == (one.row_count, one.checksum)


def _in_database(connection: Connection, table: Table, one: Slice) -> Amounts:
    found = connection.execute(
        f"SELECT count(*), coalesce(sum({in_sql(table)}), 0)::bigint FROM {table.rows}"  # noqa: S608
        f" WHERE {table.id_sql} BETWEEN %s AND %s",
        [one.first_id, one.last_id],
    ).fetchone()
    return found or (0, 0)


def _has_all(check: Check, table: Table, one: Slice, rows: DataFrame) -> bool:
    """Whether every row that the database still has is in the lake, as it is."""
    parts = plan.parts(check.settings.reads_url, table, one.ids)
    return all(_has_part(check, table, part, _numbered(rows, table)) for part in parts)


def _has_part(check: Check, table: Table, ids: Ids, kept: DataFrame) -> bool:
    reading = source.Reading(check.settings.reads_url, table, ids.first, ids.last)
    still = _numbered(source.read(check.lake.spark, reading), table)
    return still.join(kept, ["id", "number"], "left_anti").isEmpty()


def _numbered(rows: DataFrame, table: Table) -> DataFrame:
    return rows.select("id", in_spark(table).alias("number"))
