"""A batch as it was read: the messages and the refused items, by their places."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from broker_project.lib.errors import BrokerError
from channels_app.delivery.accept import Incoming, new_message_ids
from channels_app.registry import Entry
from scheduling_app.accept import Times
from scheduling_app.api.item import ItemRefused, read_item
from scheduling_app.door.bounds import SLICE_SECONDS

IDS_AT_A_TIME = 256


class TooManyMessages(BrokerError):
    """The batch has more messages than this address takes."""

    status = 413


class EmptyBatch(BrokerError):
    """A batch needs a message."""


@dataclass(frozen=True)
class Batch:
    channel: Entry
    producer: Entry
    messages: dict[int, Incoming] = field(default_factory=dict)
    # Of those for later.
    times: dict[int, Times] = field(default_factory=dict)
    refused: dict[int, ItemRefused] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.messages) + len(self.refused)

    def repeated(self) -> set[int]:
        """The places whose id an earlier one has."""
        seen: set[str] = set()
        return {
            place
            for place, message in self.messages.items()
            if message.message_id in seen or seen.add(message.message_id)  # type: ignore[func-returns-value]
        }


async def read_batch(items: Iterator[Any], channel: Entry, producer: Entry) -> Batch:
    """Reads item by item; what is refused is remembered, so that the client hears of all of it."""
    batch, fresh_ids, most = Batch(channel, producer), _fresh_ids(), settings.MAX_BATCH_MESSAGES
    began = time.perf_counter()
    for place, item in enumerate(items):
        if place >= most:
            raise TooManyMessages(f"A batch has at most {most} messages.")
        try:
            batch.messages[place], times = read_item(item, channel, producer, fresh_ids)
            if times is not None:
                batch.times[place] = times
        except ItemRefused as refusal:
            batch.refused[place] = refusal
        if time.perf_counter() - began > SLICE_SECONDS:
            await asyncio.sleep(0)
            began = time.perf_counter()
    if not len(batch):
        raise EmptyBatch
    return batch


def _fresh_ids() -> Iterator[str]:
    while True:
        yield from new_message_ids(IDS_AT_A_TIME)
