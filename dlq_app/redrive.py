"""Redrive: all letters that a filter means, and that are there when it is asked for, go back to the queue.

A letter whose job dies again meanwhile has a new id behind the last that is meant: each is queued again once.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction

from broker_project.lib.bound import fetch
from channels_app.doorbell import ring_work
from channels_app.models import Channel, Operation
from channels_app.operations import acts
from channels_app.operations.kinds import Step
from dlq_app.counted import MOST_COUNTED, Counted
from dlq_app.filters import LetterFilter
from dlq_app.models import DeadLetter
from dlq_app.pace import Clock, database_now, paced
from dlq_app.requeue import requeue

# A filter that finds little still ends its steps: open letters looked at by one.
MOST_LOOKED_AT = 5_000
# What counters are kept by; for anything else letters are counted themselves.
_COUNTED_BY = {"channel_id", "consumer_id", "reason"}
# As small as the registry: what is folded, and the deltas of the last seconds.
_COUNT = """
SELECT coalesce(sum(count), 0)::bigint FROM (
    SELECT channel_id, consumer_id, reason, count FROM counter WHERE kind = 5 AND status = 1
    UNION ALL
    SELECT channel_id, consumer_id, reason, count FROM counter_delta WHERE kind = 5 AND status = 1
) AS counted
WHERE (%(channel_id)s::bigint IS NULL OR channel_id = %(channel_id)s::bigint)
  AND (%(consumer_id)s::bigint IS NULL OR consumer_id = %(consumer_id)s::bigint)
  AND (%(reason)s::text IS NULL OR reason = %(reason)s::text)
"""


@dataclass(frozen=True)
class Ids:
    """Letters after the one, up to the other."""

    after: int
    until: int


class Redrive:
    name = "redrive"

    def __init__(self, clock: Clock = database_now) -> None:
        self._clock = clock

    def count(self, operation: Operation) -> int | None:
        return count(_meant(operation)).total

    def step(self, operation: Operation) -> Step:
        return paced(operation, self._clock, partial(_take, operation))


def begin(
    *,
    chosen: LetterFilter,
    by: str,
    note: str = "",
    per_second: float | None = None,
    asked: dict[str, Any] | None = None,
    ids: Ids | None = None,
) -> Operation:
    """`asked`: the filter in the words of whoever asked, for readers. Of all letters that there are, or of some ids."""
    channel = Channel.objects.filter(pk=chosen.channel_id).first() if chosen.channel_id else None
    told = {"filter": chosen.as_parameters(), "asked": asked or {}, "note": note, "rate_per_second": per_second}
    after = {"after": ids.after} if ids else {}
    until = ids.until if ids else newest_id()
    return acts.start(kind=Redrive.name, channel=channel, parameters=told | after, until=until, by=by)


def count(chosen: LetterFilter) -> Counted:
    named = chosen.as_parameters()
    if named.keys() <= _COUNTED_BY:
        return Counted(fetch(_COUNT, dict.fromkeys(_COUNTED_BY) | named)[0][0])
    number = chosen.letters()[: MOST_COUNTED + 1].count()
    return Counted(min(number, MOST_COUNTED), number <= MOST_COUNTED)


def _meant(operation: Operation) -> LetterFilter:
    return LetterFilter.from_parameters(operation.parameters["filter"])


def newest_id() -> int:
    return DeadLetter.objects.open().order_by("-pk").values_list("pk", flat=True).first() or 0


def _take(operation: Operation, most: int) -> Step:
    last, until = _last_looked_at(operation), operation.until or 0
    letters = _meant(operation).letters().filter(pk__gt=_looked_at(operation), pk__lte=last)
    note = operation.parameters.get("note", "")
    done = requeue(letters, by=operation.asked_by, note=note, most=most, most_times=settings.DLQ_MAX_REPLAYS)
    transaction.on_commit(partial(ring_work, done.work))
    is_full = done.chosen == most
    cursor = done.last_id if is_full else last
    assert cursor is not None
    return Step(cursor, done.moved, done.chosen - done.moved, is_last=not is_full and last >= until)


def _last_looked_at(operation: Operation) -> int:
    """Along the index of open letters, which has nothing but their ids."""
    ahead = DeadLetter.objects.open().filter(pk__gt=_looked_at(operation), pk__lte=operation.until or 0)
    ids = ahead.order_by("pk").values_list("pk", flat=True)[MOST_LOOKED_AT : MOST_LOOKED_AT + 1]
    return next(iter(ids), operation.until or 0)


def _looked_at(operation: Operation) -> int:
    return max(operation.cursor, operation.parameters.get("after", 0))
