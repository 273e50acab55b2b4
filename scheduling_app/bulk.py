"""Operations on many messages for later: cancel, or move to another time, all that a filter names.

They walk along the ids, in batches that end at their rows looked at or at their rows found, so that each is short
whatever the filter finds. What is dispatched meanwhile is not in the set: rows are locked, and asked again.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import DateTimeField, F, Value
from django.utils import timezone

from broker_project.lib.bound import fetch
from channels_app.models import Operation
from channels_app.operations.kinds import Step
from scheduling_app.bells import ring_dispatch
from scheduling_app.dispatch import Lane, next_due_in
from scheduling_app.models import ScheduledMessage

MOST, MOST_LOOKED_AT = 1_000, 20_000

# A name that is not given asks for nothing.
_MEANT = """
    (%(dueFrom)s::timestamptz IS NULL OR s.due_at >= %(dueFrom)s::timestamptz)
    AND (%(dueTo)s::timestamptz IS NULL OR s.due_at < %(dueTo)s::timestamptz)
    AND (%(producer)s::text IS NULL
         OR s.producer_id IN (SELECT id FROM producer WHERE public_id = %(producer)s::text))
    AND (%(idPrefix)s::text IS NULL OR starts_with(s.message_id, %(idPrefix)s::text))
    AND (%(priority)s::int IS NULL OR s.priority = %(priority)s::int)
"""
_WAITING = "s.channel_id = %(channel)s::bigint AND s.status = 100 AND s.id <= %(until)s::bigint"
_COUNT = f"SELECT count(*) FROM scheduled_message s WHERE {_WAITING} AND {_MEANT}"  # noqa: S608
# Along the index scheduled_by_status, until enough are found or looked at; `looked_at` is read only if few were found.
# What is taken is locked in the order of ids.
_PICK = f"""
WITH looked_at AS MATERIALIZED (
    SELECT s.id FROM scheduled_message s WHERE {_WAITING} AND s.id > %(cursor)s::bigint
    ORDER BY s.id LIMIT %(most_looked_at)s::bigint
), found AS MATERIALIZED (
    SELECT s.id FROM (
        SELECT s.id, s.due_at, s.producer_id, s.message_id, s.priority FROM scheduled_message s
        WHERE {_WAITING} AND s.id > %(cursor)s::bigint ORDER BY s.id LIMIT %(most_looked_at)s::bigint
    ) AS s WHERE {_MEANT} ORDER BY s.id LIMIT %(most)s::bigint
), taken AS MATERIALIZED (
    SELECT s.id, s.partition FROM found JOIN scheduled_message s ON s.id = found.id
    WHERE s.status = 100 AND {_MEANT} ORDER BY s.id FOR UPDATE OF s
)
SELECT (SELECT array_agg(id) FROM taken), (SELECT array_agg(DISTINCT partition) FROM taken),
       CASE WHEN is_full THEN (SELECT max(id) FROM found) ELSE (SELECT max(id) FROM looked_at) END,
       CASE WHEN is_full THEN false ELSE (SELECT count(*) < %(most_looked_at)s::bigint FROM looked_at) END
FROM (SELECT count(*) = %(most)s::bigint AS is_full FROM found) AS enough
"""  # noqa: S608
_NAMES = ("dueFrom", "dueTo", "producer", "idPrefix", "priority")


@dataclass(frozen=True)
class Picked:
    """Rows that are locked now, their partitions, and where to go on."""

    ids: list[int]
    partitions: list[int]
    cursor: int
    is_last: bool

    def step(self, done: int) -> Step:
        return Step(cursor=self.cursor, done=done, failed=len(self.ids) - done, is_last=self.is_last)


class BulkCancel:
    name = "cancel_scheduled"

    def count(self, operation: Operation) -> int:
        return _count_for(operation)

    def step(self, operation: Operation) -> Step:
        picked = _pick(operation)
        return picked.step(ScheduledMessage.objects.filter(pk__in=picked.ids).cancel())


class BulkReschedule:
    name = "reschedule_scheduled"

    def count(self, operation: Operation) -> int:
        return _count_for(operation)

    def step(self, operation: Operation) -> Step:
        picked = _pick(operation)
        rows = ScheduledMessage.objects.filter(pk__in=picked.ids)
        moved = rows.reschedule(_new_time(operation.parameters), least=_least(operation))
        transaction.on_commit(partial(_ring, _channel_id(operation), picked.partitions))
        return picked.step(moved)


def count(channel_id: int, chosen: dict[str, Any], until: int) -> int:
    """How many wait that the filter means."""
    return int(fetch(_COUNT, _parameters(channel_id, chosen, until))[0][0])


def newest_id(channel_id: int) -> int:
    ids = ScheduledMessage.objects.filter(channel_id=channel_id).order_by("-pk").values_list("pk", flat=True)
    return ids.first() or 0


def _count_for(operation: Operation) -> int:
    return count(_channel_id(operation), operation.parameters["filter"], operation.until or 0)


def _channel_id(operation: Operation) -> int:
    assert operation.channel_id is not None
    return operation.channel_id


def _pick(operation: Operation) -> Picked:
    parameters = _parameters(_channel_id(operation), operation.parameters["filter"], operation.until or 0)
    window = {"cursor": operation.cursor, "most": MOST, "most_looked_at": MOST_LOOKED_AT}
    ids, partitions, cursor, is_last = fetch(_PICK, parameters | window)[0]
    return Picked(ids or [], partitions or [], cursor or operation.cursor, is_last)


def _parameters(channel_id: int, chosen: dict[str, Any], until: int) -> dict[str, Any]:
    return {"channel": channel_id, "until": until, **{name: chosen.get(name) for name in _NAMES}}


def _new_time(parameters: dict[str, Any]) -> Any:
    if "to" in parameters:
        return Value(datetime.fromisoformat(parameters["to"]), DateTimeField())
    return F("scheduled_for") + timedelta(seconds=parameters["shiftSeconds"])


def _least(operation: Operation) -> datetime:
    """The minimum delay counts from when it was asked for, and `to` was checked then; nothing moves into the past."""
    now = timezone.now()
    if "to" in operation.parameters:
        return now
    return max(now, operation.created_at + timedelta(minutes=settings.MIN_SCHEDULE_DELAY_MINUTES))


def _ring(channel_id: int, partitions: list[int]) -> None:
    for partition in partitions:
        lane = Lane(channel_id, partition)
        wait = next_due_in(lane)
        if wait is not None:
            ring_dispatch(lane, wait)
