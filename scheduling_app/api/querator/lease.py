"""POST /v1/queue.lease: items for one client, at once or as soon as there are any, until the request's time is over."""

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
# Consumers and clients that wait at this process's desk.
_waiting: set[tuple[int, str]] = set()


async def lease(request: Request) -> Reply:
    """Who waits holds no thread and no connection to the database."""
    asked = read(request, SHAPE)
    queue = await find(asked)
    client = _client_id(asked.get("client_id", ""))
    size = _batch_size(asked.get("batch_size", 0))
    seconds = request_timeout(asked)
    place = queue.consumer.row_id, client
    if place in _waiting:
        raise DuplicateClient
    _waiting.add(place)
    try:
        jobs = await desk().ask(_ask(queue, client, size), wait_seconds=seconds, gone=request.gone)
    finally:
        _waiting.discard(place)
    await _check_again(queue, asked, jobs)
    if not jobs:
        raise NothingCame
    shown = [leased_shown(job) for job in jobs]
    return answer({"queue_name": queue.name, "partition": jobs[0].partition, "items": shown})


def waiting_for(consumer_id: int) -> int:
    return sum(1 for found, _ in _waiting if found == consumer_id)


def _ask(queue: Found, client: str, size: int) -> Ask:
    consumer = queue.consumer
    return Ask(
        consumer.row_id, consumer.cap, size, consumer.ack_timeout_seconds, MOST_BYTES, client, of_one_partition=True
    )


async def _check_again(queue: Found, asked: dict[str, str], jobs: list[Leased]) -> None:
    """A queue that was deleted during the wait hands out nothing."""
    try:
        found = await find(asked)
        if found.consumer.row_id != queue.consumer.row_id:
            raise NothingCame
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
