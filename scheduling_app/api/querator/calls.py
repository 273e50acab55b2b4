"""The calls on queues as such, and looks into them. None is hot: they run in a thread, on Django's connection."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from broker_project.api.frame import Request
from broker_project.api.reply import Reply
from channels_app.api.pull.shapes import moment_shown
from channels_app.registry import registry
from scheduling_app.api.querator import shapes
from scheduling_app.api.querator.door import answer, done, in_a_thread, partition_of, read
from scheduling_app.api.querator.items import stored_shown
from scheduling_app.api.querator.lease import waiting_for
from scheduling_app.api.querator.shapes import Shape
from scheduling_app.querator import clearing, durations, item_ids, options, queues, stats, storage
from scheduling_app.querator.clearing import Newest
from scheduling_app.querator.errors import InvalidOption
from scheduling_app.querator.item_ids import ItemId, LaterId
from scheduling_app.querator.names import check_name
from scheduling_app.querator.options import QueueOptions
from scheduling_app.querator.queues import QueueInfo
from scheduling_app.querator.stats import PartitionStats
from scheduling_app.querator.storage import StoredItem

Look = Callable[[QueueInfo, int, ItemId | LaterId | None, int], list[StoredItem]]
DEFAULT_LIMIT, MOST_LISTED = 1_000, 65_536
# What a client read by queues.info may be sent back: times and partitions are ours, and a namespace there is none.
_QUEUE = Shape(
    queue_name=shapes.text,
    created_at=shapes.moment,
    updated_at=shapes.moment,
    dead_queue=shapes.text,
    reference=shapes.text,
    lease_timeout=shapes.text,
    expire_timeout=shapes.text,
    max_attempts=shapes.number,
    requested_partitions=shapes.number,
    partitions=shapes.several(Shape(partition=shapes.number).read),
    namespace=shapes.text,
)
_NAME = Shape(queue_name=shapes.text)
_LIST = Shape(pivot=shapes.text, limit=shapes.number, namespace=shapes.text)
_DELETE = Shape(queue_name=shapes.text, force=shapes.flag)
_CLEAR = Shape(queue_name=shapes.text, scheduled=shapes.flag, queue=shapes.flag, destructive=shapes.flag)
_STORED = Shape(queue_name=shapes.text, partition=shapes.number, pivot=shapes.text, limit=shapes.number)


async def create(request: Request) -> Reply:
    asked = read(request, _QUEUE)
    name, chosen = _name(asked), _options(asked)
    return await _acted(lambda: queues.create(name, chosen))


async def update(request: Request) -> Reply:
    asked = read(request, _QUEUE)
    name, chosen = _name(asked), _options(asked)
    return await _acted(lambda: queues.update(name, chosen))


async def delete(request: Request) -> Reply:
    """With force or without: what is in it is kept as history."""
    name = _name(read(request, _DELETE))
    return await _acted(lambda: queues.delete(name))


async def _acted(act: Callable[[], None]) -> Reply:
    """This process knows of it with the answer, others within half a second."""

    def work() -> None:
        act()
        registry().refresh()

    await in_a_thread(work)
    return done()


async def info(request: Request) -> Reply:
    name = _name(read(request, _NAME))
    return answer(_shown(await in_a_thread(lambda: queues.info(name))))


async def listed(request: Request) -> Reply:
    asked = read(request, _LIST)
    pivot, limit = asked.get("pivot", ""), _limit(asked)
    if pivot:
        check_name("pivot", pivot)
    found = await in_a_thread(lambda: queues.listed(pivot, limit))
    return answer({"items": [_shown(queue) for queue in found]})


async def clear(request: Request) -> Reply:
    asked = read(request, _CLEAR)
    name = _name(asked)
    if not asked.get("queue") and not asked.get("scheduled"):
        raise InvalidOption("invalid clear request; one of 'queue', 'scheduled' must be true")

    queue, until = await in_a_thread(lambda: (queues.info(name), clearing.newest()))
    for step in _steps_of_clearing(asked):
        while await in_a_thread(partial(step, queue, until)):
            # A batch at a time: other calls have the thread between two of them.
            pass
    return done()


def _steps_of_clearing(asked: dict[str, Any]) -> Iterator[Callable[[QueueInfo, Newest], bool]]:
    if asked.get("scheduled"):
        yield from (clearing.clear_later, clearing.clear_retried)
    if asked.get("queue"):
        yield clearing.clear_line
    if asked.get("queue") and asked.get("destructive"):
        yield clearing.clear_leased


async def stats_of(request: Request) -> Reply:
    name = _name(read(request, _NAME))

    def look() -> tuple[QueueInfo, list[PartitionStats]]:
        queue = queues.info(name)
        return queue, stats.stats(queue)

    queue, found = await in_a_thread(look)
    waiting = waiting_for(queue.name)
    logical = {
        "produce_waiting": 0,
        "lease_waiting": waiting,
        "complete_waiting": 0,
        "in_flight": waiting,
        "partitions": [_partition_shown(one) for one in found],
    }
    return answer({"queue_name": queue.name, "logicalQueues": [logical]})


async def stored_items(request: Request) -> Reply:
    return await _stored(request, storage.items)


async def stored_scheduled(request: Request) -> Reply:
    return await _stored(request, storage.scheduled)


async def _stored(request: Request, look: Look) -> Reply:
    asked = read(request, _STORED)
    name, limit = _name(asked), _limit(asked)
    pivot = item_ids.pivot(asked["pivot"]) if asked.get("pivot") else None

    def work() -> Reply:
        queue = queues.info(name)
        partition = partition_of(asked, queue.channel.partitions)
        found = look(queue, partition, pivot, limit)
        most = queue.consumer.max_attempts or 0
        # Here too: megabytes of base64 would hold up the event loop.
        return answer({"items": [stored_shown(item, most) for item in found]})

    return await in_a_thread(work)


def _name(asked: dict[str, Any]) -> str:
    return check_name("queue name", asked.get("queue_name", ""))


def _limit(asked: dict[str, Any]) -> int:
    limit: int = asked.get("limit", 0)
    if limit < 0:
        raise InvalidOption("limit is invalid; limit cannot be negative")
    if limit > MOST_LISTED:
        raise InvalidOption(f"limit is invalid; cannot be greater than {MOST_LISTED}")
    return limit or DEFAULT_LIMIT


def _options(asked: dict[str, Any]) -> QueueOptions:
    if asked.get("namespace"):
        raise InvalidOption("namespace is invalid; there are no namespaces here")
    readers: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "lease": ("lease_timeout", options.lease_timeout),
        "expire": ("expire_timeout", options.expire_timeout),
        "max_attempts": ("max_attempts", options.max_attempts),
        "dead_queue": ("dead_queue", options.dead_queue),
        "reference": ("reference", options.reference),
        "partitions": ("requested_partitions", options.partitions),
    }
    return QueueOptions(**{name: check(asked[field]) for name, (field, check) in readers.items() if field in asked})


def _shown(queue: QueueInfo) -> dict[str, Any]:
    partitions = queue.channel.partitions
    return {
        "queue_name": queue.name,
        "created_at": moment_shown(queue.created_at),
        "updated_at": moment_shown(queue.updated_at),
        "dead_queue": queue.dead_queue,
        "reference": queue.reference,
        "lease_timeout": durations.shown(queue.lease),
        "expire_timeout": durations.shown(queue.expire),
        "max_attempts": queue.consumer.max_attempts or 0,
        "requested_partitions": partitions,
        "partitions": [{"partition": number} for number in range(partitions)],
    }


def _partition_shown(one: PartitionStats) -> dict[str, Any]:
    return {
        "partition": one.partition,
        "total": one.total,
        "total_leased": one.leased,
        "failures": 0,
        "average_age": durations.shown_seconds(one.average_age),
        "average_leased_age": durations.shown_seconds(one.average_leased_age),
        "scheduled": one.scheduled,
        "un_leased": max(0, one.total - one.leased),
    }
