"""Step 5: outcomes become rows, in batches. A move that names an attempt of the past changes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import AsyncConnection

from broker_project.lib.pg_arrays import Bigints, Doubles, Integers, Texts
from channels_app.delivery.claim import Job
from channels_app.delivery.retry import Outcome, Verdict, decide, decide_probe
from channels_app.delivery.target import Target
from channels_app.reasons import Reason

# Locked in the order of ids first: two batches that overlap would else wait for each other. What the consumer has
# received and will acknowledge stays in flight, with its own time; an ack that was quicker has set one already.
_SETTLE = """
WITH outcome AS MATERIALIZED (
    SELECT * FROM unnest(
        %(jobs)s, %(attempts)s, %(statuses)s, %(failed)s, %(waits)s,
        %(reasons)s, %(codes)s, %(errors)s, %(answers)s, %(durations)s, %(ack_timeouts)s
    ) AS o (job_id, attempt, status, failed, wait, reason, code, error, answer, duration, ack_timeout)
), held AS MATERIALIZED (
    SELECT j.id FROM delivery_job j JOIN outcome o ON o.job_id = j.id
    WHERE j.status = 1002 AND j.attempt = o.attempt ORDER BY j.id FOR UPDATE OF j
), moved AS (
    UPDATE delivery_job j SET status = o.status, failures = j.failures + o.failed, losses = 0, lease_until = NULL,
           next_attempt_at = CASE WHEN o.status = 1001 AND o.wait > 0 THEN now() + make_interval(secs => o.wait) END,
           reason = o.reason, status_changed_at = now()
    FROM outcome o JOIN held ON held.id = o.job_id WHERE j.id = o.job_id AND o.status <> 1002
    RETURNING j.id
), received AS (
    UPDATE delivery_job j SET received_at = coalesce(j.received_at, now()),
           lease_until = greatest(CASE WHEN j.received_at IS NOT NULL THEN j.lease_until END,
                                  now() + make_interval(secs => o.ack_timeout))
    FROM outcome o JOIN held ON held.id = o.job_id WHERE j.id = o.job_id AND o.status = 1002
    RETURNING j.id
), kept AS (
    INSERT INTO delivery_attempt (job_id, attempt, status_code, reason, error, answer, duration_ms)
    SELECT o.job_id, o.attempt, o.code, o.reason, o.error, o.answer, o.duration
    FROM outcome o JOIN moved ON moved.id = o.job_id WHERE o.status = 1003 OR o.reason IS NOT NULL
)
SELECT id FROM moved UNION ALL SELECT id FROM received
"""


@dataclass(frozen=True)
class Settled:
    """A job, what its try came to, and what follows."""

    target: Target
    job: Job
    outcome: Outcome
    verdict: Verdict

    @classmethod
    def of(cls, target: Target, job: Job, outcome: Outcome) -> "Settled":
        judge = decide_probe if target.is_half_open else decide
        verdict = judge(outcome, failures=job.failures, policy=target.policy)
        if verdict.delivered and target.awaits_acks:
            verdict = Verdict(received=True)
        return cls(target, job, outcome, verdict)

    @property
    def status(self) -> int:
        if self.verdict.delivered:
            return 1003
        if self.verdict.received:
            return 1002
        return 1004 if self.verdict.dead else 1001

    @property
    def is_try(self) -> bool:
        """Whether the consumer was asked at all."""
        return not self.outcome.released and self.outcome.reason is not Reason.EXPIRED


async def settle(connection: AsyncConnection, batch: Sequence[Settled]) -> set[int]:
    """Writes a batch in one statement; returns the jobs that still were ours to move."""
    cursor = await connection.execute(
        _SETTLE,
        {
            "jobs": Bigints([one.job.job_id for one in batch]),
            "attempts": Integers([one.job.attempt for one in batch]),
            "statuses": Integers([one.status for one in batch]),
            "failed": Integers([one.verdict.failures for one in batch]),
            "waits": Doubles([one.verdict.wait_seconds for one in batch]),
            "reasons": Texts([one.outcome.reason and one.outcome.reason.value for one in batch]),
            "codes": Integers([one.outcome.status_code for one in batch]),
            "errors": Texts([one.outcome.error for one in batch]),
            "answers": Texts([one.outcome.answer for one in batch]),
            "durations": Integers([one.outcome.duration_ms for one in batch]),
            "ack_timeouts": Doubles([one.target.ack_timeout_seconds for one in batch]),
        },
    )
    return {row[0] for row in await cursor.fetchall()}
