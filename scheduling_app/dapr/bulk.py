"""Publishing many events at once: each is stored or named with its error, all in one transaction."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from django.conf import settings

from broker_project.api.door_write import written
from broker_project.lib.errors import BrokerError
from channels_app.delivery.accept import new_message_ids
from channels_app.doorbell import ring_fan_out
from channels_app.registry import Entry
from scheduling_app.accept import Later, store_batch
from scheduling_app.bells import ring_for
from scheduling_app.dapr import metadata as words
from scheduling_app.dapr.caller import Caller, storing
from scheduling_app.dapr.cloudevents import Trace
from scheduling_app.dapr.components import channel_of, pubsub_named
from scheduling_app.dapr.errors import EventsUnreadable, PayloadTooLarge, TooManyEvents
from scheduling_app.dapr.event import Event, Ready, arrived, asked_by, read
from scheduling_app.dapr.listings import refuse_listing
from scheduling_app.dapr.topics import channel_id_of
from scheduling_app.door import limits
from scheduling_app.door.bounds import SLICE_SECONDS


class BulkEntry(NamedTuple):
    """One entry, as it came; an error stands for an event that could not be read."""

    entry_id: str
    event: bytes | BrokerError
    content_type: str
    metadata: Mapping[str, str]


class Failed(NamedTuple):
    entry_id: str
    error: str


async def publish_bulk(
    caller: Caller,
    *,
    pubsub: str,
    topic: str,
    entries: Sequence[BulkEntry],
    metadata: Mapping[str, str],
    trace: Trace,
) -> list[Failed]:
    """Those that were refused; all others are stored when this returns. A request's own fault refuses it whole."""
    component = await pubsub_named(pubsub)
    channel_id = channel_id_of(topic)
    await refuse_listing(caller, topic, channel_id)
    _check_entries(entries)
    asked_by(words.read(metadata), component)
    common = Event(component, topic, b"", "", metadata, trace.continued())
    ready, failed = await _read(caller, entries, common)
    if ready:
        await _store(caller, await channel_of(caller, channel_id, component), ready)
    return failed


def _check_entries(entries: Sequence[BulkEntry]) -> None:
    if len(entries) > settings.MAX_BATCH_MESSAGES:
        raise TooManyEvents(f"A bulk request has at most {settings.MAX_BATCH_MESSAGES} entries.")
    ids = [entry.entry_id for entry in entries]
    if "" in ids:
        raise EventsUnreadable("An entry has no entryId.")
    if len(set(ids)) < len(ids):
        raise EventsUnreadable("Two entries have the same entryId.")


async def _read(caller: Caller, entries: Sequence[BulkEntry], common: Event) -> tuple[list[Ready], list[Failed]]:
    """`common` is what the entries share: where they go, and the request's metadata."""
    ready, failed, began = [], [], time.perf_counter()
    for entry in entries:
        try:
            ready.append(read(caller, _event(entry, common)))
        except BrokerError as error:
            failed.append(Failed(entry.entry_id, error.detail))
        if time.perf_counter() - began > SLICE_SECONDS:
            await asyncio.sleep(0)
            began = time.perf_counter()
    return ready, failed


def _event(entry: BulkEntry, common: Event) -> Event:
    metadata = words.merged(common.metadata, entry.metadata)
    data = _data(entry)
    return Event(common.pubsub, common.topic, data, entry.content_type, metadata, common.trace, entry.entry_id)


def _data(entry: BulkEntry) -> bytes:
    if isinstance(entry.event, BrokerError):
        raise entry.event
    if len(entry.event) > settings.MAX_PAYLOAD_BYTES:
        raise PayloadTooLarge(f"An event has at most {settings.MAX_PAYLOAD_BYTES} bytes.")
    return entry.event


async def _store(caller: Caller, channel: Entry, ready: Sequence[Ready]) -> None:
    if limits.are_set(channel, caller.producer):
        await limits.check(channel, caller.producer, len(ready))
    caller, ids = await storing(caller), new_message_ids(len(ready))
    all_arrived = {place: arrived(caller, channel, one, ids[place]) for place, one in enumerate(ready)}
    messages = {place: one.message for place, one in all_arrived.items()}
    times = {place: one.times for place, one in all_arrived.items() if one.times is not None}
    daprs = {place: all_arrived[place].dapr for place in times}
    await written(lambda connection: store_batch(connection, messages, times, whole=False, daprs=daprs))
    if len(times) < len(messages):
        ring_fan_out()
    ring_for(Later(messages[place], due) for place, due in times.items())
