"""POST /v1/publish: stored and fanned out in one transaction, so that the answer has the index."""

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple

from django.conf import settings

from broker_project.api.door_pool import door_pool
from broker_project.api.frame import Request, Route
from broker_project.api.group_commit import GroupCommit
from broker_project.api.reply import JSON, Reply
from channels_app.api.queue.door import admit, refused, text_of
from channels_app.api.queue.envelope import message_in
from channels_app.api.queue.errors import UnknownQueue
from channels_app.api.queue.finding import producer, queue_named
from channels_app.api.queue.messages import message_shown
from channels_app.delivery.accept import Incoming, new_message_ids
from channels_app.delivery.accept_now import store_and_fan_out
from channels_app.doorbell import ring_work
from channels_app.known import in_thread
from channels_app.registry import Entry, registry

PATH = re.compile("/v1/publish")

Check = Callable[[Entry, Entry, int], Awaitable[None]]


class Gauges(NamedTuple):
    """What broadcasts go by too: the limits of a channel and a producer, and the partition with the least to do."""

    check: Check
    partition: Callable[[Entry], int]


async def _write(messages: Sequence[Incoming]) -> list[int | None]:
    async with door_pool().connection() as connection:
        placed = await store_and_fan_out(connection, messages)
    ring_work(placed.work)
    return placed.indexes


_commits = GroupCommit[Incoming, int | None](_write, size_of=lambda message: message.size)


async def start_door() -> None:
    await _commits.start()


async def stop_door() -> None:
    await _commits.stop()


async def publish(gauges: Gauges, request: Request) -> Reply:
    await admit(request)
    queue_name, value = message_in(text_of(request))
    index = await _placed(gauges, queue_name, value)
    if index is None:
        # Deleted since this process looked; another may have made it again.
        await in_thread(registry().refresh)
        index = await _placed(gauges, queue_name, value)
    if index is None:
        raise UnknownQueue
    return Reply(200, message_shown(index, queue_name, value))


async def _placed(gauges: Gauges, queue_name: str, value: bytes) -> int | None:
    """None: nothing was stored, the queue is gone."""
    queue, publisher = await queue_named(queue_name), await producer()
    await gauges.check(queue, publisher, 1)
    return await _commits.submit(
        Incoming(
            channel_id=queue.row_id,
            producer_id=publisher.row_id,
            message_id=new_message_ids(1)[0],
            payload=value,
            content_type=JSON,
            priority=0,
            headers={},
            partition=gauges.partition(queue),
        )
    )


def routes(gauges: Gauges) -> tuple[Route, ...]:
    handler = partial(publish, gauges)
    return (Route(PATH, ("POST",), handler, max_bytes=settings.MAX_PAYLOAD_BYTES, quiet=True, refusal=refused),)
