"""POST /channel/{c}/consumer/{k}/acks: what became of many jobs. Requests that arrive together share a transaction."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import structlog
from django.conf import settings

from broker_project.api.door_pool import door_pool
from broker_project.api.frame import Request, Route
from broker_project.api.group_commit import GroupCommit
from broker_project.api.reply import Reply
from broker_project.lib.patterns import row_id
from channels_app.api.pull import fields
from channels_app.api.pull.after import after
from channels_app.api.pull.door import Admitted, address, admit, answer
from channels_app.api.pull.fields import Field, InvalidField, Shape
from channels_app.api.pull.items import ItemsRefused, read_items
from channels_app.pull.ack import Batch, acknowledge
from channels_app.pull.fold import Ack, AckStatus, Result

log = structlog.get_logger(__name__)

PATH = address("acks")
MOST_BYTES = 16 * 1024 * 1024
# A transaction holds so many rows, and no more than twice as many.
AT_ONCE = 1_000
MOST_TOLD = 20
# Of large bodies so many are in the memory at a time.
_large = asyncio.Semaphore(2)
_STATUSES = {one.value: one for one in (AckStatus.RUNNING, AckStatus.COMPLETE, AckStatus.FAILED)}


def _status(value: Any) -> AckStatus:
    status = _STATUSES.get(value.upper()) if isinstance(value, str) else None
    if status is None:
        raise InvalidField("A status is RUNNING, COMPLETE or FAILED.")
    return status


_SHAPE = Shape(
    Field("jobId", "job", fields.text, needed=True),
    Field("status", "status", _status, needed=True),
    Field("attempt", "attempt", fields.attempt),
    Field("deviceId", "device_id", fields.text),
    Field("timestamp", "at", fields.moment),
    Field("error", "error", fields.error),
    Field("retryAt", "retry_at", fields.moment),
)


async def _write(batches: Sequence[Batch]) -> list[list[Result]]:
    async with door_pool().connection() as connection:
        acked = await acknowledge(connection, batches)
    after(acked)
    return acked.results


_commits = GroupCommit[Batch, list[Result]](_write, size_of=lambda batch: len(batch.acks), max_bytes=AT_ONCE)


def put(batch: Batch) -> asyncio.Future[list[Result]]:
    """For those who acknowledge at another door."""
    return _commits.put(batch)


async def start_door() -> None:
    await _commits.start()


async def stop_door() -> None:
    await _commits.stop()


@asynccontextmanager
async def gate(request: Request) -> AsyncIterator[None]:
    """Nobody's large body is read but a consumer's."""
    lengths = (int(value) for name, value in request.headers if name == b"content-length")
    if next(lengths, MOST_BYTES) <= settings.MAX_PAYLOAD_BYTES:
        yield
        return
    await _admitted(request)
    async with _large:
        yield


async def acks(request: Request) -> Reply:
    """A result for each, in order. One bad item refuses all; an unknown job harms nobody."""
    admitted = await _admitted(request)
    try:
        items = await read_items(request, _SHAPE)
    except ItemsRefused as refused:
        return refused.reply()
    names = [item.pop("job") for item in items]
    said = [Ack(job_id=row_id(name), **item) for name, item in zip(names, items, strict=True)]
    results: list[Result] = []
    for start in range(0, len(said), AT_ONCE):
        # One after another: acks of one job are folded in their order.
        results += await _put(admitted, said[start : start + AT_ONCE])
    _tell_unknown(admitted, [name for name, result in zip(names, results, strict=True) if result is Result.UNKNOWN])
    return answer({"result": [{"jobId": name, "result": result} for name, result in zip(names, results, strict=True)]})


async def _admitted(request: Request) -> Admitted:
    admitted = await admit(request, PATH)
    admitted.must_acknowledge()
    return admitted


async def _put(admitted: Admitted, said: Sequence[Ack]) -> list[Result]:
    consumer = admitted.consumer
    return await _commits.submit(Batch(consumer.row_id, consumer.ack_timeout_seconds, said))


def _tell_unknown(admitted: Admitted, names: Sequence[str]) -> None:
    if names:
        where = {"channel": admitted.channel_id, "consumer": admitted.consumer_id}
        log.warning("ack.unknown", **where, number=len(names), jobs=names[:MOST_TOLD])


ROUTES = (Route(PATH, ("POST",), acks, max_bytes=MOST_BYTES, gate=gate),)
