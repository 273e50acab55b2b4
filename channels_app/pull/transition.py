"""One job to its next state, as its consumer says: take it, keep it longer, end it, give it back."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from psycopg import AsyncConnection

from broker_project.lib.errors import BrokerError
from channels_app.errors import UnknownJob
from channels_app.pull import lease as leases
from channels_app.pull.ack import Acked, Batch, acknowledge, hold, read_past
from channels_app.pull.extend import lengthen
from channels_app.pull.fold import DEAD, DELIVERED, INFLIGHT, QUEUED, Ack, AckStatus, Held

_TAKE = """
UPDATE delivery_job SET status = 1002, attempt = attempt + 1, status_changed_at = now(), received_at = now(),
       lease_until = now() + make_interval(secs => %(lease)s), started_at = NULL, device_id = %(device)s,
       device_started_at = NULL, device_completed_at = NULL
WHERE id = %(job)s AND status = 1001 AND next_attempt_at IS NULL AND expires_at > now()
RETURNING id
"""
_NAME_DEVICE = "UPDATE delivery_job SET device_id = %(device)s WHERE id = %(job)s"
_STATE = "SELECT attempt, lease_until, device_id FROM delivery_job WHERE id = %s"


class StaleAttempt(BrokerError):
    """This attempt is over, or another holds the job now."""

    status = 409


class JobNotReady(BrokerError):
    """The job waits for its next attempt, is too old to be taken, or its consumer or channel is paused."""

    status = 409


class InFlightFull(BrokerError):
    """This consumer has as many jobs in flight as its maxInFlight allows."""

    status = 409


class TransitionNotAllowed(BrokerError):
    """A job in this state cannot go to that one."""


class NextState(StrEnum):
    QUEUED = "QUEUED"
    INFLIGHT = "INFLIGHT"
    DELIVERED = "DELIVERED"
    DEAD = "DEAD"


STATUS: Mapping[NextState, int] = {
    NextState.QUEUED: QUEUED,
    NextState.INFLIGHT: INFLIGHT,
    NextState.DELIVERED: DELIVERED,
    NextState.DEAD: DEAD,
}


class Wanted(NamedTuple):
    """What is asked for, and by whom. `cap` is None for a consumer that is pushed to: it takes nothing."""

    consumer_id: int
    job_id: int
    next_state: NextState
    lease_seconds: float
    ack_timeout_seconds: float
    cap: int | None
    attempt: int | None = None
    device_id: str | None = None
    error: str | None = None
    retry_at: datetime | None = None


class State(NamedTuple):
    attempt: int
    lease_until: datetime | None
    device_id: str | None


async def transit(connection: AsyncConnection, wanted: Wanted) -> tuple[State, Acked | None]:
    """The job's state afterwards, and what was acknowledged by it."""
    acked = None
    async with connection.transaction():
        # Before the job, as a lease does it: the other way round the two would wait for each other.
        is_taking = wanted.next_state is NextState.INFLIGHT
        in_flight = await leases.hold(connection, wanted.consumer_id) if is_taking else None
        job = await _hold(connection, wanted)
        if wanted.next_state is NextState.INFLIGHT:
            if job.status == QUEUED:
                await _take(connection, wanted, in_flight)
            else:
                await _keep(connection, wanted, job)
        elif job.status == INFLIGHT:
            batch = Batch(wanted.consumer_id, wanted.ack_timeout_seconds, [_ack(wanted)])
            acked = await acknowledge(connection, [batch])
        else:
            await _check_again(connection, wanted, job)
        [state] = await (await connection.execute(_STATE, (job.job_id,))).fetchall()
    return State(*state), acked


async def _hold(connection: AsyncConnection, wanted: Wanted) -> Held:
    job = (await hold(connection, [wanted.job_id])).get(wanted.job_id)
    if job is None or job.consumer_id != wanted.consumer_id:
        raise UnknownJob
    if wanted.attempt not in (None, job.attempt):
        raise StaleAttempt
    return job


async def _take(connection: AsyncConnection, wanted: Wanted, in_flight: int | None) -> None:
    if wanted.cap is None:
        raise TransitionNotAllowed("A consumer that is pushed to cannot take a job.")
    if wanted.attempt is not None:
        # It would be a new attempt, and the caller believes that it still has the one before.
        raise StaleAttempt
    if in_flight is None:
        raise JobNotReady
    if in_flight >= wanted.cap:
        raise InFlightFull
    parameters = {"job": wanted.job_id, "lease": wanted.lease_seconds, "device": wanted.device_id}
    if not (await connection.execute(_TAKE, parameters)).rowcount:
        raise JobNotReady


async def _keep(connection: AsyncConnection, wanted: Wanted, job: Held) -> None:
    """More time, for the one who has it."""
    if job.status != INFLIGHT:
        raise TransitionNotAllowed
    is_holder = wanted.device_id is not None and wanted.device_id == job.device_id
    if wanted.attempt is None and not is_holder:
        raise StaleAttempt("The job is in flight: name the attempt, or the device, by which you hold it.")
    await lengthen(connection, {job.job_id: wanted.lease_seconds})
    if wanted.device_id is not None:
        await connection.execute(_NAME_DEVICE, {"job": job.job_id, "device": wanted.device_id})


async def _check_again(connection: AsyncConnection, wanted: Wanted, job: Held) -> None:
    """It is in flight no more: what ended it may be said again, and changes nothing. Anything else came too late."""
    is_there = job.status == STATUS[wanted.next_state]
    if wanted.attempt is None:
        if not is_there:
            raise TransitionNotAllowed
        return
    said = _ack(wanted)
    ending = (await read_past(connection, [(job.job_id, job.attempt)]))[job.job_id].get(job.attempt)
    is_said = job.status != QUEUED or ending is (None if said.status is AckStatus.RELEASED else said.status)
    if not is_there or not is_said:
        raise StaleAttempt


def _ack(wanted: Wanted) -> Ack:
    """Back to the queue without a word is no failure."""
    failed = wanted.error is not None or wanted.retry_at is not None
    status = {
        NextState.DELIVERED: AckStatus.COMPLETE,
        NextState.DEAD: AckStatus.REFUSED,
        NextState.QUEUED: AckStatus.FAILED if failed else AckStatus.RELEASED,
    }[wanted.next_state]
    return Ack(
        wanted.job_id,
        status,
        attempt=wanted.attempt,
        device_id=wanted.device_id,
        error=wanted.error or "",
        retry_at=wanted.retry_at,
    )
