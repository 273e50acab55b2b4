"""Acks become rows: jobs are locked by id, their acks folded in order, and what changes is written at once.

Whoever comes second, an ack or the sweep of ack timeouts, waits for the row and finds the attempt ended.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from psycopg import AsyncConnection
from psycopg.rows import args_row

from broker_project.lib.pg_arrays import Bigints, Doubles, Integers, Texts
from channels_app.pull.fold import Ack, AckStatus, Held, Move, Past, Result, fold, is_past, move, named
from channels_app.pull.policies import Acker, read_ackers

# By id: two batches that overlap would else wait for each other.
_HOLD = """
SELECT j.id, j.consumer_id, j.status, j.attempt, j.failures, j.started_at IS NOT NULL, j.device_id, j.reason,
       now(), j.expires_at, extract(epoch FROM now() - m.received_at)::float8
FROM delivery_job j LEFT JOIN message m ON m.id = j.message_id
WHERE j.id = ANY(%(jobs)s) ORDER BY j.id FOR UPDATE OF j
"""
# Only what an ack has ended: a timeout or a lost worker is nobody's word.
_PAST = """
SELECT a.job_id, a.attempt, a.reason FROM unnest(%(jobs)s, %(attempts)s) AS w (job_id, attempt)
JOIN delivery_attempt a ON a.job_id = w.job_id AND a.attempt = w.attempt
WHERE a.reason IS NULL OR a.reason = 'nacked'
"""
# The rows are ours already. An ack that comes before the answer to the POST which it is about shows that the
# consumer has the job: from then on its time to acknowledge runs.
_MOVE = """
WITH move AS MATERIALIZED (
    SELECT * FROM unnest(
        %(jobs)s, %(statuses)s, %(tries)s, %(failures)s, %(waits)s, %(leases)s, %(reasons)s, %(errors)s, %(devices)s,
        %(starts)s, %(started)s, %(completed)s
    ) AS m (job_id, status, is_try, failures, wait, lease, reason, error, device, starts, started, completed)
), moved AS (
    UPDATE delivery_job j SET status = m.status, failures = j.failures + m.failures,
           losses = CASE m.is_try WHEN 1 THEN 0 ELSE j.losses END,
           reason = CASE m.is_try WHEN 1 THEN m.reason ELSE j.reason END,
           lease_until = CASE WHEN m.status <> 1002 THEN NULL
                              WHEN j.received_at IS NULL THEN now() + make_interval(secs => m.lease)
                              ELSE j.lease_until END,
           next_attempt_at = CASE WHEN m.status = 1001 AND m.wait > 0 THEN now() + make_interval(secs => m.wait) END,
           status_changed_at = CASE m.status WHEN 1002 THEN j.status_changed_at ELSE now() END,
           received_at = coalesce(j.received_at, now()),
           started_at = CASE m.starts WHEN 1 THEN now() ELSE j.started_at END,
           device_id = coalesce(m.device, j.device_id),
           device_started_at = coalesce(m.started::timestamptz, j.device_started_at),
           device_completed_at = coalesce(m.completed::timestamptz, j.device_completed_at)
    FROM move m WHERE j.id = m.job_id AND j.status = 1002
    RETURNING j.id, j.attempt, j.received_at, j.device_id
)
INSERT INTO delivery_attempt (job_id, attempt, reason, error, duration_ms, device_id)
SELECT moved.id, moved.attempt, m.reason, m.error,
       greatest(0, least(2147483647, extract(epoch FROM now() - moved.received_at) * 1000))::int, moved.device_id
FROM moved JOIN move m ON m.job_id = moved.id WHERE m.is_try = 1
"""


class Batch(NamedTuple):
    """One request's acks, and whose they are."""

    consumer_id: int
    ack_timeout_seconds: float
    acks: Sequence[Ack]


class Moved(NamedTuple):
    """A job as it was, what became of it, and whose it is."""

    held: Held
    move: Move
    acker: Acker


class Acked(NamedTuple):
    """A result for each ack of each batch, in order, and what has moved."""

    batches: Sequence[Batch]
    results: list[list[Result]]
    moved: list[Moved]
    ackers: Mapping[int, Acker]


class _Said(NamedTuple):
    """An ack of a job, and where its result goes."""

    batch: int
    place: int
    ack: Ack


async def acknowledge(connection: AsyncConnection, batches: Sequence[Batch]) -> Acked:
    """One transaction for all of them; acks of one job are folded in the order that they came."""
    async with connection.transaction():
        held = await hold(connection, {ack.job_id for batch in batches for ack in batch.acks})
        ackers = await read_ackers(connection, {batch.consumer_id for batch in batches})
        said = _by_job(batches, held)
        acked = _fold(batches, held, said, await read_past(connection, _asked(held, said)), ackers)
        if acked.moved:
            await _write(connection, acked)
    return acked


async def hold(connection: AsyncConnection, job_ids: Collection[int]) -> dict[int, Held]:
    async with connection.cursor(row_factory=args_row(Held)) as cursor:
        await cursor.execute(_HOLD, {"jobs": Bigints(list(job_ids))})
        return {one.job_id: one for one in await cursor.fetchall()}


def _by_job(batches: Sequence[Batch], held: Mapping[int, Held]) -> dict[int, list[_Said]]:
    """Without those of a job that is not there, or another's."""
    said: defaultdict[int, list[_Said]] = defaultdict(list)
    for number, batch in enumerate(batches):
        for place, ack in enumerate(batch.acks):
            job = held.get(ack.job_id)
            if job is not None and job.consumer_id == batch.consumer_id:
                said[ack.job_id].append(_Said(number, place, ack))
    return said


def _asked(held: Mapping[int, Held], said: Mapping[int, list[_Said]]) -> set[tuple[int, int]]:
    """The attempts of which the history must say how they were ended; none where all is in flight."""
    return {
        (job_id, named(held[job_id], one.ack))
        for job_id, several in said.items()
        for one in several
        if is_past(held[job_id], one.ack)
    }


async def read_past(connection: AsyncConnection, asked: Collection[tuple[int, int]]) -> Mapping[int, Past]:
    """By job: how these attempts of it were ended by an ack."""
    past: defaultdict[int, dict[int, AckStatus]] = defaultdict(dict)
    if asked:
        jobs, attempts = Bigints([job_id for job_id, _ in asked]), Integers([attempt for _, attempt in asked])
        cursor = await connection.execute(_PAST, {"jobs": jobs, "attempts": attempts})
        for job_id, attempt, reason in await cursor.fetchall():
            past[job_id][attempt] = AckStatus.COMPLETE if reason is None else AckStatus.FAILED
    return past


def _fold(
    batches: Sequence[Batch],
    held: Mapping[int, Held],
    said: Mapping[int, list[_Said]],
    past: Mapping[int, Past],
    ackers: Mapping[int, Acker],
) -> Acked:
    results = [[Result.UNKNOWN] * len(batch.acks) for batch in batches]
    moved = []
    for job_id, several in said.items():
        job = held[job_id]
        folded = fold(job, [one.ack for one in several], past.get(job_id, {}))
        for one, result in zip(several, folded.results, strict=True):
            results[one.batch][one.place] = result
        acker = ackers[job.consumer_id]
        change = move(job, folded, acker.policy)
        if change is not None:
            moved.append(Moved(job, change, acker))
    return Acked(batches, results, moved, ackers)


async def _write(connection: AsyncConnection, acked: Acked) -> None:
    leases = {batch.consumer_id: batch.ack_timeout_seconds for batch in acked.batches}
    moves = [one.move for one in acked.moved]
    await connection.execute(
        _MOVE,
        {
            "jobs": Bigints([one.job_id for one in moves]),
            "statuses": Integers([one.status for one in moves]),
            "tries": Integers([one.is_try for one in moves]),
            "failures": Integers([one.failures for one in moves]),
            "waits": Doubles([one.wait_seconds for one in moves]),
            "leases": Doubles([leases[one.held.consumer_id] for one in acked.moved]),
            "reasons": Texts([one.reason and one.reason.value for one in moves]),
            "errors": Texts([one.ended.error if one.ended else "" for one in moves]),
            "devices": Texts([one.device_id for one in moves]),
            "starts": Integers([one.began is not None for one in moves]),
            "started": Texts([_time(one.began) for one in moves]),
            "completed": Texts([_time(one.ended) for one in moves]),
        },
    )


def _time(ack: Ack | None) -> str | None:
    return ack.at.isoformat() if ack is not None and ack.at is not None else None
