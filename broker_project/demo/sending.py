"""Sends the traffic, second by second. What the broker cannot take now is left out: the demo never piles up."""

import asyncio
import itertools
from collections.abc import Mapping

from broker_client import AsyncBroker, BrokerError, Outgoing, Retries
from broker_client.outgoing import due
from broker_project.demo.cast import CHANNELS, JOBS, REMINDERS
from broker_project.demo.desk import Desk
from broker_project.demo.stage import Tokens
from broker_project.demo.tally import Tally
from broker_project.demo.traffic import Item, Send, second
from broker_project.demo.under_way import UnderWay

# So many requests under way at most; a second that finds more is left out.
MOST_UNDER_WAY = 200
# Of reminders, so many are remembered for whoever moves or cancels one.
REMEMBERED = 500
REST_SECONDS = 2.0
RETRIES = Retries(most=2, first_seconds=0.2, longest_seconds=5.0)
PRODUCER_OF = {channel.name: channel.producer for channel in CHANNELS}


def brokers(url: str, tokens: Tokens) -> Mapping[str, AsyncBroker]:
    """A client for each producer."""
    return {
        name: AsyncBroker(url, producer=name, producer_token=token, channel_tokens=tokens.channels, retries=RETRIES)
        for name, token in tokens.producers.items()
    }


class Sender:
    def __init__(self, producers: Mapping[str, AsyncBroker], desk: Desk, tally: Tally, *, run: str) -> None:
        self._producers, self._desk, self._tally = producers, desk, tally
        # Ids are of this run: they are never used twice.
        self._ids = (f"{run}-{number:06}" for number in itertools.count(1))
        self._under_way = UnderWay()
        self._rest_until = 0.0

    def begin(self, number: int, *, rate: float, seed: int) -> None:
        """Everything of this second is on its way; nobody waits for it."""
        if asyncio.get_running_loop().time() < self._rest_until or len(self._under_way) > MOST_UNDER_WAY:
            return
        for send in second(number, rate=rate, seed=seed):
            self._under_way.start(self._send(send))

    async def finish(self) -> None:
        await self._under_way.finish()

    async def _send(self, send: Send) -> None:
        await asyncio.sleep(send.after)
        try:
            await self._carry_out(send)
        except BrokerError as error:
            self._tally.refused += len(send.items)
            self._tally.heard(error)
            if error.is_passing:
                self._rest(error.retry_after_seconds or REST_SECONDS)
            return
        self._tally.sent += len(send.items)
        self._tally.trouble = ""

    async def _carry_out(self, send: Send) -> None:
        producer = PRODUCER_OF[send.channel]
        messages = [self._outgoing(send.channel, item) for item in send.items]
        if send.channel == JOBS:
            [item] = send.items
            document = {"dueTime": f"{item.delay_seconds:.0f}s", "data": item.payload}
            await self._desk.put_job(producer, messages[0].message_id, document)
        elif len(messages) == 1:
            await self._publish(self._producers[producer], send.channel, messages[0])
        else:
            await self._producers[producer].publish_batch(send.channel, messages)

    async def _publish(self, broker: AsyncBroker, channel: str, message: Outgoing) -> None:
        await broker.publish(
            channel,
            message.payload,
            message_id=message.message_id,
            priority=message.priority,
            headers=message.headers,
            scheduled_for=message.scheduled_for,
        )
        if channel == REMINDERS:
            self._tally.reminders = [*self._tally.reminders[-REMEMBERED:], message.message_id]

    def _outgoing(self, channel: str, item: Item) -> Outgoing:
        number = next(self._ids)
        return Outgoing(
            item.payload,
            message_id=f"{channel.removeprefix('demo-')}-{number}",
            priority=item.priority,
            headers={"X-Demo-Trace": number},
            scheduled_for=due(None, item.delay_seconds),
        )

    def _rest(self, seconds: float) -> None:
        self._rest_until = asyncio.get_running_loop().time() + seconds
