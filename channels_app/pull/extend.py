"""A holder asks for more time: its lease ends later. An attempt that is over gets none."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from psycopg import AsyncConnection

from broker_project.lib.pg_arrays import Bigints, Doubles
from channels_app.pull.ack import hold
from channels_app.pull.fold import INFLIGHT, Held, Result

_EXTEND = """
UPDATE delivery_job j SET lease_until = now() + make_interval(secs => w.lease),
       received_at = coalesce(j.received_at, now())
FROM unnest(%(jobs)s, %(leases)s) AS w (job_id, lease) WHERE j.id = w.job_id AND j.status = 1002
RETURNING j.id, j.lease_until
"""


class Extension(NamedTuple):
    job_id: int
    attempt: int
    lease_seconds: float


class Extended(NamedTuple):
    result: Result
    lease_until: datetime | None = None


async def extend(connection: AsyncConnection, consumer_id: int, wanted: Sequence[Extension]) -> list[Extended]:
    """A result for each, in order. Of several for one job the last one counts."""
    async with connection.transaction():
        held = await hold(connection, {one.job_id for one in wanted})
        results = [_result(held, consumer_id, one) for one in wanted]
        leases = {
            one.job_id: one.lease_seconds
            for one, result in zip(wanted, results, strict=True)
            if result is Result.APPLIED
        }
        until = await lengthen(connection, leases)
    return [
        Extended(result, until[one.job_id]) if result is Result.APPLIED else Extended(result)
        for one, result in zip(wanted, results, strict=True)
    ]


def _result(held: Mapping[int, Held], consumer_id: int, wanted: Extension) -> Result:
    job = held.get(wanted.job_id)
    if job is None or job.consumer_id != consumer_id:
        return Result.UNKNOWN
    return Result.APPLIED if (job.status, job.attempt) == (INFLIGHT, wanted.attempt) else Result.STALE


async def lengthen(connection: AsyncConnection, leases: Mapping[int, float]) -> dict[int, datetime]:
    """From now on, so many seconds. Whoever calls this holds the rows."""
    if not leases:
        return {}
    parameters = {"jobs": Bigints(list(leases)), "leases": Doubles(list(leases.values()))}
    cursor = await connection.execute(_EXTEND, parameters)
    return dict(await cursor.fetchall())
