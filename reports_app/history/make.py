"""Makes a history: the registry's rows first, then chunk by chunk, in one transaction."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from channels_app.models import Message, MessageKey
from reports_app.history import rows
from reports_app.history.cast import Registered, register
from reports_app.history.errors import NotEmpty, NothingToMake, SeedUsed
from reports_app.history.load import Hour, chunks, hours
from scheduling_app.models import ScheduledMessage

A_CHUNK = 50_000
# Before it there are no reports either.
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
TABLES = (
    "message",
    "message_key",
    "scheduled_message",
    "delivery_job",
    "delivery_attempt",
    "dead_letter",
    "dead_letter_act",
)
# Nobody else draws ids of these while we number ours; reading goes on.
_ALONE = "LOCK TABLE message, delivery_job IN SHARE ROW EXCLUSIVE MODE"
_LAST = "SELECT nextval('message_id_seq'), nextval('delivery_job_id_seq')"
_NUMBERED = """
SELECT setval('message_id_seq', %s), setval('delivery_job_id_seq', (SELECT coalesce(max(id), %s) FROM delivery_job))
"""


@dataclass(frozen=True)
class Asked:
    """`until` is where it ends: a midnight in UTC."""

    messages: int
    days: int
    seed: int
    until: datetime


def make(asked: Asked) -> None:
    """Only into an empty database; see `add`."""
    if Message.objects.exists() or ScheduledMessage.objects.exists():
        raise NotEmpty
    add(asked)


def add(asked: Asked) -> None:
    can_be = 1 <= asked.days <= (asked.until - EARLIEST).days and asked.until <= timezone.now()
    if asked.messages < 1 or not can_be or not 0 <= asked.seed < 2**31:
        raise NothingToMake
    with transaction.atomic(), connection.cursor() as cursor:
        # A history of millions takes longer than any request should.
        cursor.execute("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")
        # Nor is it counted as what happens now.
        cursor.execute("SET LOCAL broker.past = 'on'")
        parts, producers = register()
        _refuse_twice(asked, parts)
        cursor.execute(_ALONE)
        _write(cursor, asked, parts, producers)
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {', '.join(TABLES)}")


def _refuse_twice(asked: Asked, parts: list[Registered]) -> None:
    channels = [part.channel_id for part in parts]
    if MessageKey.objects.filter(channel_id__in=channels, message_id=f"h{asked.seed}-1").exists():
        raise SeedUsed


def _write(cursor: Any, asked: Asked, parts: list[Registered], producers: list[int]) -> None:
    cursor.execute(rows.CHANCE)
    cursor.execute(rows.CAST)
    _tell_cast(cursor, parts)
    cursor.execute(_LAST)
    before_message, before_job = cursor.fetchone()
    told = {"seed": asked.seed, "messages": asked.messages, "producers": producers, "before_message": before_message}
    for chunk in chunks(hours(messages=asked.messages, days=asked.days, seed=asked.seed, until=asked.until), A_CHUNK):
        before_job = _write_chunk(cursor, chunk, {**told, "before_job": before_job})
    cursor.execute(_NUMBERED, [before_message + asked.messages, before_job])
    cursor.execute("DROP TABLE told_channel, told_consumer")


def _tell_cast(cursor: Any, parts: list[Registered]) -> None:
    since, place = 0.0, 0
    for one in parts:
        channel = [
            one.channel_id,
            since,
            one.until if one is not parts[-1] else 1.0,
            one.part.for_later,
            one.part.pulls,
        ]
        cursor.execute("INSERT INTO told_channel VALUES (%s, %s, %s, %s, %s)", channel)
        for consumer_id, nature in one.consumers.items():
            values = [consumer_id, one.channel_id, place, nature.fails, nature.reason, nature.error]
            values += [nature.status_code, nature.seconds, nature.dies_at]
            cursor.execute("INSERT INTO told_consumer VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)", values)
            place += 1
        since = one.until


def _write_chunk(cursor: Any, chunk: list[Hour], told: dict[str, Any]) -> int:
    """Says the last job's id."""
    times = {
        "starts": [hour.start for hour in chunk],
        "firsts": [hour.first for hour in chunk],
        "counts": [hour.count for hour in chunk],
    }
    for statement in (rows.MESSAGES, rows.JOBS, rows.TRIES):
        cursor.execute(statement, {**told, **times})
    cursor.execute("ANALYZE told_message (id), told_job (id), told_try (job_id)")
    cursor.execute("SELECT coalesce(max(id), %(before_job)s) FROM told_job", told)
    [last_job] = cursor.fetchone()
    for statement in rows.WRITE:
        cursor.execute(statement, told)
    return int(last_job)
