"""A number for a row, the same from Spark and from PostgreSQL: 44 bits, so that a slice's sum fits a bigint."""

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F

from spark_analytics.tables import Column, Table, Type

DIGITS = 11
NULL = r"\N"
SEPARATOR = "\x1f"


def in_spark(table: Table) -> SparkColumn:
    text = F.concat_ws(SEPARATOR, *[F.coalesce(_spark_text(column), F.lit(NULL)) for column in _counted(table)])
    return F.conv(F.substring(F.md5(text), 1, DIGITS), 16, 10).cast("bigint")


def in_sql(table: Table) -> str:
    parts = ", ".join(f"coalesce({_sql_text(column)}, E'\\\\N')" for column in _counted(table))
    return f"('x' || substr(md5(concat_ws(E'\\x1f', {parts})), 1, {DIGITS}))::bit({DIGITS * 4})::bigint"


def _counted(table: Table) -> list[Column]:
    return [column for column in table.columns if not column.derived]


def _spark_text(column: Column) -> SparkColumn:
    value = F.col(column.name)
    match column.type:
        case Type.MOMENT:
            return F.unix_micros(value).cast("string")
        case Type.BYTES:
            return F.md5(value)
        case _:
            return value.cast("string")


def _sql_text(column: Column) -> str:
    match column.type:
        case Type.MOMENT:
            return f"(extract(epoch FROM {column.sql}) * 1000000)::bigint::text"
        case Type.BYTES:
            return f"md5({column.sql})"
        case _:
            return f"({column.sql})::{column.type}::text"
