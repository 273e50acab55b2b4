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
from scheduling_app.dapr.cloudevents import CONTENT_TYPE, Envelope, JsonText, Kind, Trace, kind_of, new_event_ids
from scheduling_app.dapr.components import channel_of, pubsub_named
from scheduling_app.dapr.errors import EventsUnreadable, PayloadTooLarge, TooManyEvents
from scheduling_app.dapr.event import (
    Event,
    Ready,
    asked_by,
    check_content_type,
    message_of,
    place_of,
    read,
    this_second,
)
from scheduling_app.dapr.listings import refuse_listing
from scheduling_app.dapr.topics import channel_id_of
from scheduling_app.door import limits
from scheduling_app.door.bounds import SLICE_SECONDS
from scheduling_app.door.later import spread_over


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
    reader = _Reader(caller, Event(component, topic, b"", "", metadata, trace.continued()), len(entries))
    ready, failed = await _read(reader, entries)
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


class _Reader:
    """Reads the entries of a request. What they share, `common`, is looked at once: most differ in their data alone."""

    def __init__(self, caller: Caller, common: Event, entries: int) -> None:
        self._caller, self._common = caller, common
        self._wishes = words.read(common.metadata)
        asked = asked_by(self._wishes, common.pubsub)
        self._is_plain = asked is None and not (self._wishes.raw or self._wishes.attributes or common.trace.state)
        self._envelopes: dict[str, Envelope] = {}
        self._event_ids = new_event_ids(entries)
        self._most_bytes = settings.MAX_PAYLOAD_BYTES

    def read(self, entry: BulkEntry) -> Ready:
        data = self._data(entry.event)
        if (
            self._is_plain
            and not entry.metadata
            and type(data) is JsonText
            and kind_of(entry.content_type) is Kind.JSON
        ):
            envelope = self._envelopes.get(entry.content_type) or self._envelope(entry.content_type)
            return Ready(envelope.around_json(next(self._event_ids), data), CONTENT_TYPE, self._wishes, None, None)
        return read(self._caller, _event(entry, data, self._common))

    def _data(self, event: bytes | BrokerError) -> bytes:
        if isinstance(event, BrokerError):
            raise event
        if len(event) > self._most_bytes:
            raise PayloadTooLarge(f"An event has at most {self._most_bytes} bytes.")
        return event

    def _envelope(self, content_type: str) -> Envelope:
        check_content_type(content_type)
        place = place_of(self._caller, self._common)
        made = Envelope.of(place, content_type, self._common.trace, this_second())
        return self._envelopes.setdefault(content_type, made)


async def _read(reader: _Reader, entries: Sequence[BulkEntry]) -> tuple[list[Ready], list[Failed]]:
    ready, failed, began = [], [], time.perf_counter()
    for entry in entries:
        try:
            ready.append(reader.read(entry))
        except BrokerError as error:
            failed.append(Failed(entry.entry_id, error.detail))
        if time.perf_counter() - began > SLICE_SECONDS:
            await asyncio.sleep(0)
            began = time.perf_counter()
    return ready, failed


def _event(entry: BulkEntry, data: bytes, common: Event) -> Event:
    metadata = words.merged(common.metadata, entry.metadata)
    return Event(common.pubsub, common.topic, data, entry.content_type, metadata, common.trace, entry.entry_id)


async def _store(caller: Caller, channel: Entry, ready: Sequence[Ready]) -> None:
    if limits.are_set(channel, caller.producer):
        await limits.check(channel, caller.producer, len(ready))
    caller, ids = await storing(caller), new_message_ids(len(ready))
    messages = {place: message_of(caller, channel, one, ids[place]) for place, one in enumerate(ready)}
    times = {place: spread_over(one.asked, channel) for place, one in enumerate(ready) if one.asked is not None}
    daprs = {place: ready[place].dapr for place in times}
    await written(lambda connection: store_batch(connection, messages, times, whole=False, daprs=daprs))
    if len(times) < len(messages):
        ring_fan_out()
    ring_for(Later(messages[place], due) for place, due in times.items())
