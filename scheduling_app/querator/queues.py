"""The acts on queues and what is known of them. On Django's connection, in a thread."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from broker_project.lib import conditions
from broker_project.lib.conditions import Condition
from channels_app import services
from channels_app.errors import ChannelExists
from channels_app.models import Channel, Consumer, RegistryVersion
from channels_app.models.channel import DeadLetters
from channels_app.models.consumer import MAX_IN_FLIGHT_LIMIT, ConsumerType
from channels_app.models.registry_object import RegistryObject
from scheduling_app.models import Queue
from scheduling_app.querator.durations import SECOND
from scheduling_app.querator.errors import ChangedMeanwhile, InvalidOption, QueueExists, QueueInUse, UnknownQueue
from scheduling_app.querator.names import channel_id, queue_name
from scheduling_app.querator.options import QueueOptions, check_order

# Who leases all items, and who they come from: a consumer and a producer like any other.
CONSUMER, PRODUCER = "queue", "querator"


@dataclass(frozen=True)
class QueueInfo:
    """A queue as its channel and its consumer have it. Times in nanoseconds."""

    name: str
    channel: Channel
    consumer: Consumer
    dead_queue: str
    reference: str
    created_at: datetime
    updated_at: datetime

    @property
    def lease(self) -> int:
        return round(self.consumer.ack_timeout_seconds * 1000) * 1_000_000

    @property
    def expire(self) -> int:
        return self.channel.max_age_seconds * SECOND


def create(name: str, options: QueueOptions) -> None:
    """All or nothing: the channel, its consumer, and who produces to it."""
    if options.lease is None:
        raise InvalidOption("lease timeout is invalid; cannot be empty")
    if options.expire is None:
        raise InvalidOption("expire timeout is invalid; cannot be empty")
    check_order(options.lease, options.expire)
    services.ensure_producer(PRODUCER)
    with _alone():
        dead = _dead_queue(name, options)
        try:
            channel = services.create(Channel(public_id=channel_id(name)), values=_of_channel(options, dead))
        except ChannelExists:
            raise QueueExists(name) from None
        assert isinstance(channel, Channel)
        fresh = Consumer(channel=channel, public_id=CONSUMER, type=ConsumerType.PULL)
        services.create(
            fresh, values={"max_in_flight": MAX_IN_FLIGHT_LIMIT, "max_attempts": 0, **_of_consumer(options)}
        )
        Queue.objects.create(channel=channel, dead_queue=dead, reference=options.reference or "")


def update(name: str, options: QueueOptions) -> None:
    """What is left out stays as it is."""
    with _alone():
        queue = _held(name)
        known = info(name)
        check_order(options.lease or known.lease, options.expire or known.expire)
        if options.partitions is not None and options.partitions < known.channel.partitions:
            raise InvalidOption("requested partitions is invalid; a queue cannot have fewer partitions than before")
        dead = queue.dead_queue if options.dead_queue is None else _dead_queue(name, options)
        _change(known.channel, _of_channel(options, dead))
        _change(known.consumer, _of_consumer(options))
        reference = queue.reference if options.reference is None else options.reference
        Queue.objects.filter(pk=queue.pk).update(dead_queue=dead, reference=reference, updated_at=Now())


def delete(name: str) -> None:
    """As a channel is deleted: items that wait are dead, and their history stays."""
    with _alone():
        queue = _held(name)
        if queue.sources.filter(channel__deleted_at__isnull=True).exists():
            raise QueueInUse
        try:
            services.delete(queue.channel, condition=Condition(etags=frozenset({queue.channel.etag})))
        except conditions.ChangedMeanwhile:
            raise ChangedMeanwhile from None


def info(name: str) -> QueueInfo:
    """One that is being changed by others is shown as it was."""
    found = next(_infos(_live().filter(channel__public_id=channel_id(name))), None)
    if found is None:
        raise UnknownQueue(name)
    return found


def listed(pivot: str, limit: int) -> list[QueueInfo]:
    """By name, from the pivot on, or from the next one if that is gone."""
    rows = _live().filter(channel__public_id__gte=channel_id(pivot)).order_by("channel__public_id")
    return list(_infos(rows[:limit]))


def _live() -> Any:
    return Queue.objects.filter(channel__deleted_at__isnull=True).select_related("channel", "dead_queue__channel")


def _infos(queues: Iterable[Queue]) -> Iterator[QueueInfo]:
    rows = list(queues)
    named = Consumer.objects.live().filter(public_id=CONSUMER, channel__in=[queue.pk for queue in rows])
    consumers = {consumer.channel_id: consumer for consumer in named}
    for queue in rows:
        # Without its consumer a channel is no queue any more.
        if queue.pk in consumers:
            yield _info(queue, consumers[queue.pk])


def _info(queue: Queue, consumer: Consumer) -> QueueInfo:
    dead = queue.dead_queue.channel.public_id if queue.dead_queue else ""
    name = queue_name(queue.channel.public_id)
    times = queue.created_at, queue.updated_at
    return QueueInfo(name, queue.channel, consumer, queue_name(dead), queue.reference, *times)


@contextmanager
def _alone() -> Iterator[None]:
    """A transaction in which nobody else changes the registry: a dead queue that is found is there until its end."""
    with transaction.atomic():
        RegistryVersion.objects.lock()
        yield


def _held(name: str) -> Queue:
    queue = _live().filter(channel__public_id=channel_id(name)).select_for_update(of=("self",)).first()
    if queue is None:
        raise UnknownQueue(name)
    assert isinstance(queue, Queue)
    return queue


def _dead_queue(name: str, options: QueueOptions) -> Queue | None:
    """There are no chains: what is dead is dead."""
    if not options.dead_queue:
        return None
    if options.dead_queue == name:
        raise InvalidOption(f"dead queue is invalid; '{name}' cannot reference itself")
    dead = _live().filter(channel__public_id=channel_id(options.dead_queue)).select_for_update(of=("self",)).first()
    if dead is None:
        raise InvalidOption(f"dead queue is invalid; '{options.dead_queue}' does not exist")
    if dead.dead_queue_id is not None:
        raise InvalidOption(f"dead queue is invalid; '{options.dead_queue}' cannot have its own dead_queue")
    if Queue.objects.filter(channel__deleted_at__isnull=True, dead_queue__channel__public_id=channel_id(name)).exists():
        raise InvalidOption(f"dead queue is invalid; '{name}' is a dead queue and cannot have its own dead_queue")
    assert isinstance(dead, Queue)
    return dead


def _of_channel(options: QueueOptions, dead: Queue | None) -> dict[str, Any]:
    """With a dead queue the items go there, and no letter is kept beside; without one operators find them."""
    values: dict[str, Any] = {"dead_letters": DeadLetters.DROP if dead else DeadLetters.KEEP}
    if options.expire is not None:
        values["max_age_seconds"] = max(1, math.ceil(options.expire / SECOND))
    if options.partitions is not None:
        values["partitions"] = options.partitions
    return values


def _of_consumer(options: QueueOptions) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if options.lease is not None:
        values["ack_timeout_seconds"] = options.lease / SECOND
    if options.max_attempts is not None:
        values["max_attempts"] = options.max_attempts
    return values


def _change(row: RegistryObject, values: dict[str, Any]) -> None:
    if not services.would_change(row, values):
        return
    try:
        services.put(row, values=values, condition=Condition(etags=frozenset({row.etag})))
    except conditions.ChangedMeanwhile:
        raise ChangedMeanwhile from None
