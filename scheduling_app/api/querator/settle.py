"""POST /v1/queue.complete and /v1/queue.retry: what became of items that were leased."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from broker_project.api.door_write import written
from broker_project.api.frame import Request
from broker_project.api.reply import Reply
from channels_app.api.pull.after import after
from channels_app.doorbell import ring_fan_out
from channels_app.pull.ack import Batch
from channels_app.pull.fold import DEAD, Ack, AckStatus
from scheduling_app.api.querator import shapes
from scheduling_app.api.querator.door import Found, done, find, partition_of, read
from scheduling_app.api.querator.shapes import Shape
from scheduling_app.api.querator.timeouts import request_timeout
from scheduling_app.querator import settling
from scheduling_app.querator.errors import InvalidOption, NotLeased
from scheduling_app.querator.item_ids import ItemId, item_id

MOST_ITEMS = 1_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ITEM = Shape(id=shapes.text, retry_at=shapes.moment, dead=shapes.flag)
COMPLETE = Shape(
    queue_name=shapes.text, partition=shapes.number, request_timeout=shapes.text, ids=shapes.several(shapes.text)
)
RETRY = Shape(queue_name=shapes.text, partition=shapes.number, items=shapes.several(_ITEM.read))


async def complete(request: Request) -> Reply:
    asked = read(request, COMPLETE)
    queue, names = await find(asked), asked.get("ids", [])
    partition = partition_of(asked, queue.channel.partitions)
    _check_number("ids", names)
    request_timeout(asked)
    acks = [_ack(_named(name, partition), AckStatus.COMPLETE) for name in names]
    return await _settle(queue, acks)


async def retry(request: Request) -> Reply:
    """At once, at a time to come, or never again."""
    asked = read(request, RETRY)
    queue, items = await find(asked), asked.get("items", [])
    partition = partition_of(asked, queue.channel.partitions)
    _check_number("items", items)
    return await _settle(queue, [_again(item, partition) for item in items])


async def _settle(queue: Found, acks: Sequence[Ack]) -> Reply:
    batch = Batch(queue.consumer.row_id, queue.consumer.ack_timeout_seconds, acks)
    acked = await written(lambda connection: settling.settle(connection, batch))
    after(acked)
    if any(moved.move.status == DEAD for moved in acked.moved):
        # It may have gone to a dead queue.
        ring_fan_out()
    return done()


def _check_number(field: str, listed: Sequence[object]) -> None:
    if not listed:
        raise InvalidOption(f"{field} is invalid; list of {field} cannot be empty")
    if len(listed) > MOST_ITEMS:
        raise InvalidOption(f"{field} is invalid; at most {MOST_ITEMS} go into one request but received {len(listed)}")


def _again(item: dict[str, Any], partition: int) -> Ack:
    status = AckStatus.REFUSED if item.get("dead") else AckStatus.FAILED
    retry_at = _EPOCH + timedelta(microseconds=item["retry_at"]) if "retry_at" in item else None
    return _ack(_named(item.get("id", ""), partition), status, retry_at)


def _ack(item: ItemId, status: AckStatus, retry_at: datetime | None = None) -> Ack:
    return Ack(item.job_id, status, attempt=item.attempt, retry_at=retry_at)


def _named(text: str, partition: int) -> ItemId:
    found = item_id(text)
    if found.partition != partition:
        raise NotLeased(f"'{text}' does not exist in partition {partition}. Nothing was changed.")
    return found
