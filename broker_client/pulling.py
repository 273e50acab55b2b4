"""Jobs by lease: take, keep, acknowledge, give back."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from broker_client.acks import Ack, short
from broker_client.flow import Flow, json_request, path
from broker_client.identity import Identity
from broker_client.values import ItemResult, Job

# What the broker takes in one request.
MOST_ITEMS = 1_000


def lease(
    identity: Identity,
    channel: str,
    consumer: str,
    *,
    limit: int = 25,
    lease_seconds: float = 60.0,
    wait_seconds: float = 0.0,
) -> Flow[list[Job]]:
    """Jobs that nobody else gets while their lease lasts. With `wait_seconds` (30 at most) it waits for the first."""
    asked = {
        "limit": limit,
        "leaseSeconds": lease_seconds,
        "waitSeconds": wait_seconds,
        "deviceId": identity.device_id,
    }
    request = json_request("POST", _place(channel, consumer, "lease"), identity.as_consumer(channel, consumer), asked)
    answer = yield replace(request, extra_seconds=wait_seconds)
    return [Job.of(found) for found in answer.expect().json()["result"]]


def acknowledge(identity: Identity, channel: str, consumer: str, acks: Sequence[Ack]) -> Flow[list[ItemResult]]:
    """Running, complete, failed: in order, as many as you like. Sending one twice is harmless."""
    said = [ack.document(identity.device_id) for ack in acks]
    return (yield from _batches(identity, channel, consumer, "acks", said))


def extend(
    identity: Identity, channel: str, consumer: str, jobs: Iterable[Job], *, lease_seconds: float = 60.0
) -> Flow[list[ItemResult]]:
    """Yours for so long from now."""
    said = [{"jobId": job.id, "attempt": job.attempt, "leaseSeconds": lease_seconds} for job in jobs]
    return (yield from _batches(identity, channel, consumer, "extend", said))


def release(identity: Identity, channel: str, consumer: str, job: Job) -> Flow[None]:
    """Given back without a failure: the next who asks gets it."""
    move = {"nextState": "QUEUED", "attempt": job.attempt}
    yield from _move(identity, channel, consumer, job, move)


def reject(identity: Identity, channel: str, consumer: str, job: Job, error: str) -> Flow[None]:
    """Dead at once, without another try."""
    move = {"nextState": "DEAD", "attempt": job.attempt, "error": short(error), "deviceId": identity.device_id}
    yield from _move(identity, channel, consumer, job, move)


def _move(identity: Identity, channel: str, consumer: str, job: Job, move: dict[str, Any]) -> Flow[None]:
    where = _place(channel, consumer, "job", job.id)
    answer = yield json_request("POST", where, identity.as_consumer(channel, consumer), move)
    # An earlier try was heard: the job is where it should be, or already another's.
    if not (answer.is_repeat and answer.status in (400, 409)):
        answer.expect()


def _batches(
    identity: Identity, channel: str, consumer: str, verb: str, items: list[dict[str, Any]]
) -> Flow[list[ItemResult]]:
    results: list[ItemResult] = []
    for start in range(0, len(items), MOST_ITEMS):
        batch = items[start : start + MOST_ITEMS]
        where, who = _place(channel, consumer, verb), identity.as_consumer(channel, consumer)
        answer = yield json_request("POST", where, who, batch)
        results += [ItemResult.of(one) for one in answer.expect().json()["result"]]
    return results


def _place(channel: str, consumer: str, *rest: str) -> str:
    return path("channel", channel, "consumer", consumer, *rest)
