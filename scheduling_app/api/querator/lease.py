"""POST /v1/queue.lease: items for one client, at once or as soon as there are any, until the request's time is over."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from broker_project.api.frame import Request
from broker_project.api.reply import Reply
from broker_project.lib.errors import BrokerError
from channels_app.api.pull.waiting import desk
from channels_app.pull.lease import Ask, Leased
from scheduling_app.api.querator import shapes
from scheduling_app.api.querator.door import Found, answer, find, read
from scheduling_app.api.querator.items import leased_shown
from scheduling_app.api.querator.shapes import Shape
from scheduling_app.api.querator.timeouts import request_timeout
from scheduling_app.querator.errors import DuplicateClient, InvalidOption, NothingCame

MOST_ITEMS, MAX_CLIENT_ID = 1_000, 255
MOST_BYTES = 8 * 1024 * 1024
SHAPE = Shape(queue_name=shapes.text, batch_size=shapes.number, client_id=shapes.text, request_timeout=shapes.text)
# Who waits looks so often whether the queue is still there.
WAIT_SECONDS = 20.0
# Queues, by name, and clients that wait at this process's desk.
_waiting: set[tuple[str, str]] = set()


async def lease(request: Request) -> Reply:
    """Who waits holds no thread and no connection to the database."""
    asked = read(request, SHAPE)
    queue = await find(asked)
    client = _client_id(asked.get("client_id", ""))
    size = _batch_size(asked.get("batch_size", 0))
    wait = _Wait(asyncio.get_running_loop().time() + request_timeout(asked), request.gone)
    with _waits(queue.name, client):
        jobs = await _leased(queue, asked, client, size, wait)
    if not jobs:
        raise NothingCame
    shown = [leased_shown(job) for job in jobs]
    return answer({"queue_name": queue.name, "partition": jobs[0].partition, "items": shown})


def waiting_for(queue_name: str) -> int:
    return sum(1 for name, _ in _waiting if name == queue_name)


@dataclass(frozen=True)
class _Wait:
    """Until a time of the event loop, or until the client has left or the desk closes."""

    until: float
    gone: asyncio.Event

    @property
    def seconds_left(self) -> float:
        return self.until - asyncio.get_running_loop().time()

    @property
    def is_over(self) -> bool:
        return self.gone.is_set() or desk().is_closed or self.seconds_left <= 0


@contextmanager
def _waits(queue_name: str, client: str) -> Iterator[None]:
    place = queue_name, client
    if place in _waiting:
        raise DuplicateClient
    _waiting.add(place)
    try:
        yield
    finally:
        _waiting.discard(place)


async def _leased(queue: Found, asked: dict[str, Any], client: str, size: int, wait: _Wait) -> list[Leased]:
    """One that was deleted ends the wait and hands out nothing; if it was made again, the new one is waited for."""
    while True:
        seconds = min(WAIT_SECONDS, wait.seconds_left)
        jobs = await desk().ask(_ask(queue, client, size), wait_seconds=seconds, gone=wait.gone)
        found = await _found_again(asked, jobs)
        is_same = found.consumer.row_id == queue.consumer.row_id
        if is_same and (jobs or wait.is_over):
            return jobs
        if not is_same:
            await desk().give_back(jobs)
        queue = found


def _ask(queue: Found, client: str, size: int) -> Ask:
    consumer = queue.consumer
    return Ask(
        consumer.row_id, consumer.cap, size, consumer.ack_timeout_seconds, MOST_BYTES, client, of_one_partition=True
    )


async def _found_again(asked: dict[str, Any], jobs: list[Leased]) -> Found:
    try:
        return await find(asked)
    except BrokerError:
        await desk().give_back(jobs)
        raise


def _client_id(text: str) -> str:
    if not text.strip():
        raise InvalidOption("invalid client id; cannot be empty")
    if len(text) > MAX_CLIENT_ID or not text.isprintable():
        raise InvalidOption(f"invalid client id; at most {MAX_CLIENT_ID} characters, none of them control characters")
    return text


def _batch_size(number: int) -> int:
    if number <= 0:
        raise InvalidOption("invalid batch size; must be greater than zero")
    if number > MOST_ITEMS:
        raise InvalidOption(f"invalid batch size; at most {MOST_ITEMS} go into one lease, but {number} was requested")
    return number
