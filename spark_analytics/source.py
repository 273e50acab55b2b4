"""PostgreSQL as a source of Spark: by ADBC into Arrow, in partitions by range of ids.

A partition reads its rows whole in one short transaction, of a snapshot that all of them share if so told, and only
then hands them on: however slow Spark is, no transaction waits for it.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow
from adbc_driver_postgresql import dbapi
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.types import BinaryType, DataType, IntegerType, LongType, StringType, StructType, TimestampType

from spark_analytics.errors import ReportError
from spark_analytics.filters import as_sql
from spark_analytics.snapshot import offered, served, waiting
from spark_analytics.tables import BY_NAME, Column, Table, Type

NAME = "broker"
BATCH_ROWS = 20_000
BATCH_BYTES = 16 * 2**20
# Each holds a connection, and a slice is not large: more would only burden the database.
MOST_READERS = 8
# Until all partitions are there: a machine that is busy takes its time to start them.
WAIT_SECONDS = 120.0
_LOOK_SECONDS = 0.02
_OFFERED = """
SELECT substr(application_name, strpos(application_name, '=') + 1) FROM pg_stat_activity
WHERE starts_with(application_name, '{beginning}')
"""
_TYPES: dict[Type, DataType] = {
    Type.BIGINT: LongType(),
    Type.INT: IntegerType(),
    Type.TEXT: StringType(),
    Type.MOMENT: TimestampType(),
    Type.BYTES: BinaryType(),
}


class NoSnapshot(ReportError):
    """The parts of a slice were not read at the same time: is Spark busy with something else?"""


@dataclass(frozen=True)
class Reading:
    """Rows of a table with ids from `first` to `last`; none: to the newest there is."""

    url: str
    table: Table
    first: int
    last: int | None = None
    # Of a snapshot that the partitions share; none: each reads at its own moment.
    label: str = ""

    def options(self, partitions: int) -> dict[str, str]:
        return {
            "url": self.url,
            "table": self.table.name,
            "columns": ",".join(column.name for column in self.table.columns),
            "first": str(self.first),
            "last": "" if self.last is None else str(self.last),
            "label": self.label,
            "partitions": str(partitions),
        }


def read(spark: SparkSession, reading: Reading, readers: int | None = None) -> DataFrame:
    """By so many partitions, or as many as suit the cores that there are now."""
    spark.dataSource.register(PostgresSource)
    options = reading.options(readers or readers_of(spark))
    return spark.read.format(NAME).options(**options).load()


def readers_of(spark: SparkSession) -> int:
    """No more than can run at once: all of them must take a snapshot while it is held.

    Spark's defaultParallelism is 2 at least, also on a cluster that has one core, or none yet. What comes later helps
    the next slice.
    """
    executors = spark.sparkContext._jsc.sc().statusStore().executorList(True)
    cores = sum(executors.apply(number).totalCores() for number in range(executors.size()))
    return readers_on(cores)


def readers_on(cores: int) -> int:
    """The other half is for the slice before; and on a machine with a live broker, for its traffic."""
    return max(1, min(cores // 2, MOST_READERS))


def schema_of(table: Table) -> StructType:
    schema = StructType()
    for column in table.columns:
        schema = schema.add(column.name, _TYPES[column.type])
    return schema


def ranges(first: int, last: int, count: int) -> list[tuple[int, int]]:
    """At most `count` that cover all of it."""
    size = max(1, -(-(last - first + 1) // count))
    return [(start, min(start + size - 1, last)) for start in range(first, last + 1, size)]


class PostgresSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> StructType:
        return schema_of(_reading(self.options).table)

    def reader(self, schema: StructType) -> DataSourceReader:
        return PostgresReader(_reading(self.options), int(self.options["partitions"]))


def _reading(options: Mapping[str, str]) -> Reading:
    table = BY_NAME[options["table"]]
    chosen = options["columns"].split(",")
    known = {column.name: column for column in (*table.columns, *table.heavy)}
    return Reading(
        url=options["url"],
        table=replace(table, columns=tuple(known[name] for name in chosen)),
        first=int(options["first"]),
        last=int(options["last"]) if options["last"] else None,
        label=options["label"],
    )


class Part(InputPartition):
    def __init__(self, number: int, first: int, last: int) -> None:
        super().__init__((number, first, last))


class PostgresReader(DataSourceReader):
    def __init__(self, reading: Reading, partitions: int) -> None:
        self.reading = reading
        self.count = partitions
        self.conditions: list[str] = []

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        columns = {column.name: column for column in self.reading.table.columns}
        for asked in filters:
            if condition := as_sql(asked, columns):
                self.conditions.append(condition)
            else:
                yield asked

    def partitions(self) -> list[Part]:
        last = self._newest() if self.reading.last is None else self.reading.last
        # Without any, Spark would make up one of its own.
        found = ranges(self.reading.first, last, self.count) or [(self.reading.first, last)]
        return [Part(number, *ids) for number, ids in enumerate(found)]

    def _newest(self) -> int:
        table = self.reading.table
        with dbapi.connect(self.reading.url) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT coalesce(max(id), 0) AS id FROM {table.relation}")  # noqa: S608
            return int(cursor.fetch_arrow_table()["id"][0].as_py())

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        number, first, last = partition.value
        rows = _rows(self.reading, number, self._select(first, last))
        yield from rows.to_batches(max_chunksize=_rows_of_batch(rows))

    def _select(self, first: int, last: int) -> str:
        table = self.reading.table
        shown = ", ".join(map(_cast, table.columns))
        where = " AND ".join([f"{table.id_sql} BETWEEN {first} AND {last}", *self.conditions])
        return f"SELECT {shown} FROM {table.rows} WHERE {where}"  # noqa: S608


def _rows_of_batch(rows: pyarrow.Table) -> int:
    """Payloads may be large."""
    return max(1, min(BATCH_ROWS, BATCH_BYTES * rows.num_rows // max(1, rows.nbytes)))


def _cast(column: Column) -> str:
    return f'({column.sql})::{column.type} AS "{column.name}"'


def _rows(reading: Reading, number: int, select: str) -> pyarrow.Table:
    with dbapi.connect(reading.url, autocommit=True) as connection, connection.cursor() as cursor:
        snapshot = _await_snapshot(cursor, reading.label, number) if reading.label else ""
        cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        if snapshot:
            cursor.execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
            _say(cursor, served(reading.label, number))
        cursor.execute(select)
        rows = cursor.fetch_arrow_table()
        cursor.execute("COMMIT")
    return rows


def _await_snapshot(cursor: dbapi.Cursor, label: str, number: int) -> str:
    _say(cursor, waiting(label, number))
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        cursor.execute(_OFFERED.format(beginning=offered(label, "")))
        if found := cursor.fetchone():
            return str(found[0])
        time.sleep(_LOOK_SECONDS)
    raise NoSnapshot


def _say(cursor: dbapi.Cursor, name: str) -> None:
    cursor.execute(f"SET application_name = '{name}'")
