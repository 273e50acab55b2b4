"""Messages and jobs for tests, and connections of their own for what runs on an event loop."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from django.db import connection
from psycopg import AsyncConnection

from channels_app.models import Channel, Consumer, DeliveryJob, Message, Producer

Result = TypeVar("Result")


def make_job(consumer: Consumer, producer: Producer, *, payload: bytes = b"x", **values: Any) -> DeliveryJob:
    """A message that was fanned out to this consumer."""
    message = Message.objects.create(
        channel=consumer.channel,
        producer=producer,
        message_id=f"m{Message.objects.count()}",
        payload=payload,
        content_type="text/plain",
        status=101,
    )
    defaults: dict[str, Any] = {"priority": 0, "status": 1001}
    return DeliveryJob.objects.create(
        message=message, channel=consumer.channel, consumer=consumer, **{**defaults, **values}
    )


def on_a_loop(work: Callable[[AsyncConnection], Awaitable[Result]]) -> Result:
    """Runs it with a connection of its own to the test's database."""

    async def run() -> Result:
        parameters = connection.get_connection_params()
        address = {"dbname": parameters["dbname"], "user": parameters["user"], "host": parameters["host"]}
        async with await AsyncConnection.connect(**address, autocommit=True) as own:
            return await work(own)

    return asyncio.run(run())


def statuses(channel: Channel) -> list[tuple[int, str | None]]:
    return list(DeliveryJob.objects.filter(channel=channel).order_by("pk").values_list("status", "reason"))
