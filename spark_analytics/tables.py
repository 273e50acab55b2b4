"""What the lake holds: a table each of messages, jobs, attempts, messages for later, and acts on dead letters.

Every column is an SQL expression over the broker's database; a test holds them against the Django models. Rows are
found by their primary key, so that a slice is a range of ids.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self


class Type(StrEnum):
    """As both PostgreSQL and Spark know it, after a cast."""

    BIGINT = "bigint"
    INT = "int"
    TEXT = "text"
    MOMENT = "timestamptz"
    BYTES = "bytea"


@dataclass(frozen=True)
class Column:
    """`derived`: of another row, which may change without this one; it is not part of a row's checksum."""

    name: str
    sql: str
    type: Type
    derived: bool = False


@dataclass(frozen=True)
class Table:
    """`kind` is the counters' number for it; `day` the column whose UTC day a row belongs to."""

    name: str
    kind: int
    rows: str
    day: str
    columns: tuple[Column, ...]
    # Left out unless asked for.
    heavy: tuple[Column, ...] = ()
    # Rolled up by another column than `day`.
    due: str = ""

    @property
    def is_wide(self) -> bool:
        return bool(self.heavy) and self.columns[-len(self.heavy) :] == self.heavy

    def wide(self) -> Self:
        """With what is left out otherwise."""
        return self if self.is_wide else replace(self, columns=(*self.columns, *self.heavy))

    @property
    def relation(self) -> str:
        """The table whose ids these are."""
        return self.rows.split()[0]

    @property
    def id_sql(self) -> str:
        return self.columns[0].sql

    @property
    def hour(self) -> str:
        """The column whose hour a row counts in."""
        return self.due or self.day

    @property
    def day_sql(self) -> str:
        return next(column.sql for column in self.columns if column.name == self.day)


def _columns(prefix: str, **types: Type) -> tuple[Column, ...]:
    return tuple(Column(name, f"{prefix}.{name}", kind) for name, kind in types.items())


_BIGINT, _INT, _TEXT, _MOMENT = Type.BIGINT, Type.INT, Type.TEXT, Type.MOMENT

MESSAGE = Table(
    name="message",
    kind=1,
    rows="message m",
    day="received_at",
    columns=(
        *_columns("m", id=_BIGINT, channel_id=_BIGINT, producer_id=_BIGINT, message_id=_TEXT, content_type=_TEXT),
        *_columns("m", priority=_INT, partition=_INT, status=_INT, sequence=_BIGINT),
        *_columns("m", received_at=_MOMENT, dispatched_at=_MOMENT, expunged_at=_MOMENT),
        Column("bytes", "octet_length(m.payload)", _BIGINT),
    ),
    heavy=(Column("payload", "m.payload", Type.BYTES),),
)
JOB = Table(
    name="job",
    kind=2,
    rows="delivery_job j LEFT JOIN message m ON m.id = j.message_id",
    day="created_at",
    columns=(
        *_columns("j", id=_BIGINT, message_id=_BIGINT, channel_id=_BIGINT, consumer_id=_BIGINT, priority=_INT),
        *_columns("j", partition=_INT, status=_INT, reason=_TEXT, attempt=_INT, failures=_INT, losses=_INT),
        *_columns("j", created_at=_MOMENT, received_at=_MOMENT, started_at=_MOMENT, status_changed_at=_MOMENT),
        Column("accepted_at", "m.received_at", _MOMENT),
        # Expunging takes the payload out of the message.
        Column("bytes", "octet_length(m.payload)", _BIGINT, derived=True),
    ),
)
SCHEDULED = Table(
    name="scheduled",
    kind=3,
    rows="scheduled_message s",
    day="created_at",
    due="due_at",
    columns=(
        *_columns("s", id=_BIGINT, channel_id=_BIGINT, producer_id=_BIGINT, message_id=_TEXT, content_type=_TEXT),
        *_columns("s", priority=_INT, partition=_INT, status=_INT, reason=_TEXT, scheduled_for=_MOMENT),
        *_columns("s", due_at=_MOMENT, created_at=_MOMENT, dispatched_at=_MOMENT, status_changed_at=_MOMENT),
        Column("bytes", "octet_length(s.payload)", _BIGINT),
    ),
    heavy=(Column("payload", "s.payload", Type.BYTES),),
)
ATTEMPT = Table(
    name="attempt",
    kind=4,
    rows="delivery_attempt a JOIN delivery_job j ON j.id = a.job_id",
    day="finished_at",
    columns=(
        *_columns("a", id=_BIGINT, job_id=_BIGINT),
        *_columns("j", channel_id=_BIGINT, consumer_id=_BIGINT),
        *_columns("a", attempt=_INT, status_code=_INT, reason=_TEXT, error=_TEXT, duration_ms=_INT, device_id=_TEXT),
        *_columns("a", finished_at=_MOMENT),
    ),
)
LETTER_ACT = Table(
    name="letter_act",
    kind=5,
    rows="dead_letter_act a JOIN delivery_job j ON j.id = a.job_id",
    day="at",
    columns=(
        *_columns("a", id=_BIGINT, job_id=_BIGINT),
        *_columns("j", channel_id=_BIGINT, consumer_id=_BIGINT),
        *_columns("a", act=_TEXT, reason=_TEXT, attempt=_INT, by=_TEXT, note=_TEXT, at=_MOMENT),
    ),
)
TABLES = (MESSAGE, JOB, SCHEDULED, ATTEMPT, LETTER_ACT)
BY_NAME = {table.name: table for table in TABLES}
