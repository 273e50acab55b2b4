"""Dapr's bulk door: many events in one request. 204 when all are stored; else 500, with those that are not."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from django.conf import settings

from broker_project.api.frame import Request, Route
from broker_project.api.reply import Reply
from scheduling_app.api.broadcast_batch import announced, room
from scheduling_app.api.dapr.entries import read_entries
from scheduling_app.api.dapr.head import caller_behind, head_of, metadata_of
from scheduling_app.api.dapr.reply import outcome, refusal
from scheduling_app.dapr.bulk import publish_bulk

PATH = re.compile(r"/v1\.0(?:-alpha1)?/publish/bulk/([^/]*)(?:/(.*))?", re.DOTALL)


@asynccontextmanager
async def gate(request: Request) -> AsyncIterator[None]:
    """Nobody's large body is read but an application's, and none for which there is no room."""
    size = announced(request)
    if size <= settings.MAX_PAYLOAD_BYTES:
        yield
        return
    await caller_behind(request, head_of(request.headers))
    with room.hold(min(size, settings.MAX_BATCH_BYTES)):
        yield


async def publish_events(request: Request) -> Reply:
    head = head_of(request.headers)
    caller = await caller_behind(request, head)
    pubsub, topic = PATH.fullmatch(request.path).groups("")  # type: ignore[union-attr]
    with room.hold(len(request.body)):
        entries = await read_entries(request.body)
        failed = await publish_bulk(
            caller,
            pubsub=pubsub,
            topic=topic,
            entries=entries,
            metadata=metadata_of(request.query),
            trace=head.trace,
        )
    return outcome(failed)


ROUTES = (
    Route(
        PATH,
        ("POST", "PUT"),
        publish_events,
        max_bytes=settings.MAX_BATCH_BYTES,
        quiet=True,
        gate=gate,
        refusal=refusal,
    ),
)
