"""The stage: everything of the cast is registered before the show, stilled after it, and taken away on request."""

import secrets
from collections.abc import Awaitable
from contextlib import suppress
from dataclasses import dataclass, field

from broker_client import AsyncBroker, NotFound
from broker_project.demo.cast import CHANNELS, PRODUCERS, SCHEDULES, Channel, push_consumers
from broker_project.demo.desk import Desk

NOTE = "the demo is stopped"


@dataclass(frozen=True)
class Tokens:
    """New for each show: nobody else sends to the demo's channels."""

    channels: dict[str, str] = field(repr=False)
    producers: dict[str, str] = field(repr=False)
    # By channel and consumer: {"orders/billing": "…"}.
    consumers: dict[str, str] = field(repr=False)


def new_tokens() -> Tokens:
    consumers = [f"{channel.name}/{one.name}" for channel in CHANNELS for one in channel.consumers]
    return Tokens(
        {channel.name: secrets.token_urlsafe(16) for channel in CHANNELS},
        {name: secrets.token_urlsafe(16) for name in PRODUCERS},
        {name: secrets.token_urlsafe(16) for name in consumers},
    )


async def build(broker: AsyncBroker, desk: Desk, receiver: str, tokens: Tokens) -> None:
    """Whatever is there already is as it should be afterwards: this can be done again and again."""
    for name, title in PRODUCERS.items():
        await broker.put_producer(name, name=title, token=tokens.producers[name])
    for channel in CHANNELS:
        await broker.put_channel(
            channel.name, name=channel.title, token=tokens.channels[channel.name], **channel.settings
        )
        await _put_consumers(broker, channel, receiver, tokens)
        if channel.policy:
            await desk.ask("PUT", f"/channel/{channel.name}/dead-letter-policy", channel.policy)
    for schedule in SCHEDULES:
        document = {"producer": schedule.producer, "payload": '{"tick": "{{tick}}"}', "contentType": "application/json"}
        await desk.put_schedule(schedule.channel, schedule.name, {**document, **schedule.settings})
    await wake(desk)


async def _put_consumers(broker: AsyncBroker, channel: Channel, receiver: str, tokens: Tokens) -> None:
    for one in channel.consumers:
        token = tokens.consumers[f"{channel.name}/{one.name}"]
        await broker.put_consumer(channel.name, one.name, token=token, **one.document(channel.name, receiver))


async def wake(desk: Desk) -> None:
    """Whoever was stilled, disabled or broken in an earlier show begins anew."""
    for place in [*_schedules(), *_consumers()]:
        await desk.ask("POST", f"{place}/resume")


async def still(desk: Desk) -> None:
    """Without this, what is scheduled would be sent on and on to a receiver that is gone."""
    for place in _schedules():
        await _unless_gone(desk.ask("POST", f"{place}/pause", {"note": NOTE}))
    for place in _consumers():
        await _unless_gone(desk.ask("POST", f"{place}/pause"))


def _schedules() -> list[str]:
    return [f"/channel/{one.channel}/schedule/{one.name}" for one in SCHEDULES]


def _consumers() -> list[str]:
    return [f"/channel/{channel}/consumer/{name}" for channel, name in push_consumers()]


async def _unless_gone(call: Awaitable[object]) -> None:
    """Somebody may have removed it meanwhile."""
    with suppress(NotFound):
        await call


async def remove(desk: Desk) -> int:
    """How many channels were there. A channel takes its consumers along."""
    for place in _schedules():
        await desk.delete(place)
    gone = [await desk.delete(f"/channel/{channel.name}") for channel in CHANNELS]
    for name in PRODUCERS:
        await desk.delete(f"/producer/{name}")
    return sum(gone)
