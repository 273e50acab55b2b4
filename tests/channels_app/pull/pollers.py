"""A channel with messages and consumers that poll it by index, on connections of their own."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

from psycopg import AsyncConnection

from channels_app.models import Channel, ChannelState, Consumer, ConsumerState, DeliveryJob
from channels_app.pull.index import ack, again, poll, seek
from channels_app.pull.index.ack import Acked
from channels_app.pull.index.poll import Item, Polled
from tests.channels_app.delivery.rows import on_a_loop
from tests.channels_app.messages import dispatch, make_messages
from tests.channels_app.registry import make_channel, make_consumer

Result = TypeVar("Result")


@dataclass
class Poller:
    """A consumer, and what it may do."""

    consumer: Consumer

    def poll(self, start: int | None = None, limit: int = 25) -> Polled:
        return self._do(lambda own: poll.poll(own, self.consumer.pk, start=start, limit=limit))

    def take(self, start: int | None = None, limit: int = 25) -> list[int]:
        return [item.index for item in self.poll(start, limit).items]

    def ack(self, index: int) -> Acked:
        return self._do(lambda own: ack.ack(lambda: nullcontext(own), self.consumer.pk, index))

    def ack_up_to(self, index: int) -> Acked:
        return self._do(lambda own: ack.ack_up_to(lambda: nullcontext(own), self.consumer.pk, index))

    def seek(self, index: int) -> None:
        self._do(lambda own: seek.seek(lambda: nullcontext(own), self.consumer.pk, index))

    def message_at(self, index: int) -> Item:
        return self._do(lambda own: again.message_at(own, self.consumer.pk, index))

    def _do(self, act: Callable[[AsyncConnection], Awaitable[Result]]) -> Result:
        return on_a_loop(act)

    @property
    def indexes(self) -> tuple[int, int]:
        """Acked and sent, as they are kept."""
        state = ConsumerState.objects.get(pk=self.consumer.pk)
        return state.acked_index, state.sent_index

    def job(self, index: int) -> DeliveryJob:
        return DeliveryJob.objects.get(consumer=self.consumer, message__sequence=index)

    def statuses(self) -> list[int]:
        jobs = DeliveryJob.objects.filter(consumer=self.consumer).order_by("message__sequence")
        return list(jobs.values_list("status", flat=True))


def make_poller(channel: Channel | None = None, public_id: str = "k", **values: Any) -> Poller:
    kind = {"type": "pull", "pull_mode": "index", "callback_url": "", "token": "mine"}
    return Poller(make_consumer(channel or make_channel(token="open"), public_id, **{**kind, **values}))


def publish(channel: Channel, number: int, **values: Any) -> None:
    """So many messages, fanned out."""
    last = ChannelState.objects.get(pk=channel.pk).last_sequence
    make_messages(channel, *(f"m{last + place + 1}" for place in range(number)), **values)
    dispatch(channel)


async def together(*acts: Awaitable[Result]) -> list[Result]:
    return list(await asyncio.gather(*acts))
