"""A walk along rows whose ids rise with their times: what was received, or tried, between two moments.

There is no index on those times. Where the walk begins and ends is found by halving the ids, a minute too wide, as a
row may stand behind others of its transaction's last seconds; each row's own time is asked as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.db import connection, transaction

from channels_app.delivery.work import WHO, Work
from channels_app.doorbell import ring_work
from channels_app.models import Consumer, Operation
from channels_app.operations import acts
from channels_app.operations.kinds import Step
from dlq_app.counted import MOST_COUNTED, Counted

# Rows looked at by one step, so that each is short whatever it finds.
LEAST_LOOKED_AT, LOOKED_AT_FOR_EACH = 500, 5
SAMPLE = 10

# The last row before a moment, or before one a minute off.
_LAST_BEFORE = """
WITH RECURSIVE halving AS (
    SELECT 0::bigint AS low, %(last)s::bigint AS high
    UNION ALL
    SELECT CASE WHEN is_before THEN middle ELSE low END, CASE WHEN is_before THEN high ELSE middle - 1 END
    FROM (
        SELECT low, high, (low + high + 1) / 2 AS middle,
               coalesce(({next_at}) < %(at)s::timestamptz + make_interval(mins => %(minutes)s), false) AS is_before
        FROM halving WHERE low < high
    ) AS step
)
SELECT max(low) FROM halving
"""
_CHOSEN = "WITH looked_at AS MATERIALIZED ({looked_at}), found AS MATERIALIZED ({found})"
_TOLD = f"""
SELECT (SELECT count(*) FROM looked_at), (SELECT max(id) FROM looked_at), (SELECT count(*) FROM found),
       (SELECT max(id) FROM found), (SELECT count(*) FROM made), work.*
FROM ({WHO}) AS work
"""  # noqa: S608
_COUNTED = " SELECT (SELECT count(*) FROM looked_at), (SELECT count(*) FROM found)"
_SHOWN = f"""
SELECT m.message_id, found.at FROM found JOIN message m ON m.id = found.message_id ORDER BY found.id LIMIT {SAMPLE}
"""  # noqa: S608


@dataclass(frozen=True)
class Stretch:
    """From a moment until before another, or until now."""

    start_at: datetime
    end_at: datetime | None = None


@dataclass(frozen=True)
class Sample:
    message_id: str
    at: datetime


@dataclass(frozen=True)
class Walk:
    """Statements of one kind. `last`: the newest row's id; `next_at`: the time of the first from `middle` on.

    `looked_at` has the rows ahead; `found` those of them that are meant: id, message_id, at; `made` queues them.
    """

    kind: str
    last: str
    next_at: str
    looked_at: str
    found: str
    made: str

    def begin(self, consumer: Consumer, stretch: Stretch, *, by: str, note: str, per_second: float | None) -> Operation:
        told = {"consumer": consumer.public_id, "note": note, "rate_per_second": per_second}
        channel, meant = consumer.channel, self._meant(consumer, stretch)
        until = meant.pop("until")
        return acts.start(kind=self.kind, channel=channel, parameters=told | meant, until=until, by=by)

    def count(self, consumer: Consumer, stretch: Stretch) -> Counted:
        return self._count(self._meant(consumer, stretch))

    def count_for(self, operation: Operation) -> Counted:
        return self._count(_told(operation))

    def sample(self, consumer: Consumer, stretch: Stretch) -> list[Sample]:
        window = {"most": SAMPLE, "most_looked_at": MOST_COUNTED}
        rows = _fetch(self._chosen + _SHOWN, self._meant(consumer, stretch) | window)
        return [Sample(*row) for row in rows]

    def take(self, operation: Operation, most: int) -> Step:
        """Planned anew each time: a plan for any bounds would not know that they are near each other."""
        most_looked_at = max(LEAST_LOOKED_AT, LOOKED_AT_FOR_EACH * most)
        window = {"most": most, "most_looked_at": most_looked_at}
        [row] = _fetch(f"{self._chosen}, {self.made} {_TOLD}", _told(operation) | window)
        looked_at, last_looked_at, found, last_found, made, *who = row
        transaction.on_commit(partial(ring_work, Work.of(*who)))
        is_full = found == most
        cursor = last_found if is_full else last_looked_at
        is_last = not is_full and looked_at < most_looked_at
        return Step(cursor or operation.cursor, made, found - made, is_last=is_last)

    @property
    def _chosen(self) -> str:
        return _CHOSEN.format(looked_at=self.looked_at, found=self.found)

    def _count(self, meant: dict[str, Any]) -> Counted:
        window = {"most": MOST_COUNTED, "most_looked_at": MOST_COUNTED}
        [(looked_at, found)] = _fetch(self._chosen + _COUNTED, meant | window)
        return Counted(found, is_exact=looked_at < MOST_COUNTED)

    def _meant(self, consumer: Consumer, stretch: Stretch) -> dict[str, Any]:
        """As an operation's row keeps it. Rows that come later are not meant, even if the stretch has no end."""
        named = {"channel_id": consumer.channel_id, "consumer_id": consumer.pk}
        [(last,)] = _fetch(self.last, named)
        known = {**named, "last": last}
        after = self._last_before(stretch.start_at, minutes=-1, **known)
        until = self._last_before(stretch.end_at, minutes=1, **known) if stretch.end_at else last
        times = {"from": stretch.start_at.isoformat(), "to": stretch.end_at.isoformat() if stretch.end_at else None}
        return {**named, **times, "after": after, "until": until}

    def _last_before(self, at: datetime, **known: int) -> int:
        [(found,)] = _fetch(_LAST_BEFORE.format(next_at=self.next_at), {"at": at, **known})
        return int(found)


def _told(operation: Operation) -> dict[str, Any]:
    after = max(operation.cursor, operation.parameters["after"])
    return {**operation.parameters, "after": after, "until": operation.until or 0}


def _fetch(statement: str, values: dict[str, Any]) -> Sequence[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall()
