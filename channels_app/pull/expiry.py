"""Ack timeouts: a consumer had a job and said nothing in time. That is a failed attempt, and the policy decides."""

from dataclasses import dataclass, field

import structlog
from django.db import transaction

from broker_project.lib.bound import fetch
from broker_project.lib.pg_arrays import Bigints, Doubles, Integers, Texts
from channels_app.delivery.retry import Outcome, Verdict, decide
from channels_app.delivery.sweeps import MOST, POISON_LOSSES
from channels_app.delivery.work import Work
from channels_app.metrics.activity import count_moved
from channels_app.pull.measure import measure_timeouts
from channels_app.pull.policies import POLICIES, Acker
from channels_app.reasons import ADVICE, Reason

log = structlog.get_logger(__name__)

_TIMEOUT = Outcome(reason=Reason.ACK_TIMEOUT, error="No acknowledgement came in time.")

# One that an ack has locked is left to it: whoever is first ends the attempt. Found first and ordered then: for the
# first so many by id the planner would go along the primary key, past all that is done.
_LATE = """
WITH late AS MATERIALIZED (
    SELECT id FROM delivery_job WHERE status = 1002 AND lease_until < now() AND received_at IS NOT NULL
    LIMIT %(most)s::bigint
)
SELECT j.id, j.consumer_id, j.attempt, j.failures, j.losses FROM delivery_job j JOIN late ON late.id = j.id
WHERE j.status = 1002 AND j.lease_until < now() AND j.received_at IS NOT NULL
ORDER BY j.id FOR UPDATE OF j SKIP LOCKED
"""
_WRITE = """
WITH late AS MATERIALIZED (
    SELECT * FROM unnest(%(jobs)s, %(attempts)s, %(statuses)s, %(waits)s, %(reasons)s)
    AS l (job_id, attempt, status, wait, reason)
), moved AS (
    UPDATE delivery_job j SET status = late.status, failures = failures + 1, losses = losses + 1, lease_until = NULL,
           next_attempt_at = CASE WHEN late.status = 1001 AND late.wait > 0
                                  THEN now() + make_interval(secs => late.wait) END,
           reason = late.reason, status_changed_at = now()
    FROM late WHERE j.id = late.job_id AND j.status = 1002 AND j.attempt = late.attempt
    RETURNING j.id, j.attempt, j.received_at, j.device_id
), kept AS (
    INSERT INTO delivery_attempt (job_id, attempt, reason, error, duration_ms, device_id)
    SELECT id, attempt, 'ack_timeout', %(error)s,
           greatest(0, least(2147483647, extract(epoch FROM now() - received_at) * 1000))::int, device_id
    FROM moved
)
SELECT id FROM moved
"""


@dataclass(frozen=True)
class Late:
    """A job whose time is over, and whose it is."""

    job_id: int
    consumer_id: int
    attempt: int
    failures: int
    losses: int

    @property
    def is_poison(self) -> bool:
        """It kills whoever takes it."""
        return self.losses + 1 >= POISON_LOSSES


@dataclass(frozen=True)
class Ended:
    """A late job, and what follows."""

    late: Late
    acker: Acker
    verdict: Verdict

    @classmethod
    def of(cls, late: Late, acker: Acker) -> "Ended":
        if late.is_poison and not acker.is_queue:
            return cls(late, acker, Verdict(dead=True, failures=1))
        return cls(late, acker, decide(_TIMEOUT, failures=late.failures, policy=acker.policy))

    @property
    def status(self) -> int:
        return 1004 if self.verdict.dead else 1001

    @property
    def is_ready(self) -> bool:
        return not self.verdict.dead and not self.verdict.wait_seconds

    @property
    def reason(self) -> Reason:
        is_poison = self.late.is_poison and not self.acker.is_queue
        return Reason.POISON if is_poison else Reason.ACK_TIMEOUT

    def tell(self) -> None:
        facts = {"reason": self.reason.value, "advice": ADVICE[self.reason]} if self.verdict.dead else {}
        say = log.warning if self.verdict.dead else log.info
        say(
            "ack.timeout",
            channel=self.acker.channel,
            consumer=self.acker.consumer,
            job=self.late.job_id,
            old="INFLIGHT",
            new="DEAD" if self.verdict.dead else "QUEUED",
            attempt=f"{self.late.failures + 1} of {self.acker.tries}",
            **facts,
        )


@dataclass
class Expired:
    """Who may be sent more, or has something to ask for; and in how many seconds the retries are due."""

    work: Work = field(default_factory=Work)
    waits: set[float] = field(default_factory=set)

    def add(self, ended: list[Ended]) -> None:
        push = frozenset(one.acker.consumer_id for one in ended if one.acker.is_push)
        ready = [one.acker for one in ended if one.is_ready and not one.acker.is_push]
        pull = frozenset(acker.consumer_id for acker in ready)
        told = frozenset(acker.consumer_id for acker in ready if acker.has_url)
        self.work |= Work(push, pull, told)
        self.waits |= {one.verdict.wait_seconds for one in ended if one.verdict.wait_seconds}


def end_unacknowledged() -> Expired:
    """In batches, until nobody is late."""
    expired = Expired()
    while True:
        ended = _end_some()
        expired.add(ended)
        count_moved("ack_timeout", len(ended))
        measure_timeouts([(one.acker.channel, one.verdict.dead) for one in ended])
        for one in ended:
            one.tell()
        if len(ended) < MOST:
            return expired


def _end_some() -> list[Ended]:
    with transaction.atomic():
        late = [Late(*row) for row in fetch(_LATE, {"most": MOST})]
        if not late:
            return []
        rows = fetch(POLICIES, {"consumers": Bigints(list({one.consumer_id for one in late}))})
        ackers = {row[0]: Acker(*row) for row in rows}
        return _write([Ended.of(one, ackers[one.consumer_id]) for one in late])


def _write(ended: list[Ended]) -> list[Ended]:
    rows = fetch(
        _WRITE,
        {
            "jobs": Bigints([one.late.job_id for one in ended]),
            "attempts": Integers([one.late.attempt for one in ended]),
            "statuses": Integers([one.status for one in ended]),
            "waits": Doubles([one.verdict.wait_seconds for one in ended]),
            "reasons": Texts([one.reason.value for one in ended]),
            "error": _TIMEOUT.error,
        },
    )
    moved = {row[0] for row in rows}
    return [one for one in ended if one.late.job_id in moved]
