"""Messages to try things out with: stored by the steps that store everybody's, under the limits that hold for all."""

from dataclasses import dataclass, field

import structlog
from django.conf import settings
from django.db import transaction

from channels_app.delivery.accept import Incoming, new_message_ids, store_one
from channels_app.delivery.accept_for_one import store_for_one
from channels_app.doorbell import ring_fan_out, ring_work
from channels_app.errors import UnknownChannel, UnknownProducer
from channels_app.models import Channel, Consumer, Message, Producer
from channels_app.registry import Entry, registry
from channels_app.selectors import get_message
from scheduling_app.door import limits
from watch_app.explorer.errors import ConsumerTakesNone, NothingToSend, PayloadTooLarge

log = structlog.get_logger(__name__)

# Kept with the message and sent along, so that nobody takes it for real.
MARK = {"X-Broker-Test": "true"}


@dataclass(frozen=True)
class Draft:
    """`consumer`: it alone gets it; None: the whole channel."""

    channel: Channel
    producer: Producer
    payload: bytes
    content_type: str
    headers: dict[str, str] = field(default_factory=dict)
    priority: int = 0
    consumer: Consumer | None = None


def send(draft: Draft, *, by: str) -> Message:
    """The caller notes it in the same transaction; the bell rings when that is over."""
    if not draft.payload:
        raise NothingToSend
    if len(draft.payload) > settings.MAX_PAYLOAD_BYTES:
        raise PayloadTooLarge
    channel, producer = _entries(draft)
    limits.check_one(channel, producer)
    message = _incoming(draft)
    if draft.consumer is None:
        _store_for_all(message)
    else:
        _store_for_one(message, draft.consumer)
    to = draft.consumer.public_id if draft.consumer else None
    log.info("message.sent_as_a_test", channel=draft.channel.public_id, consumer=to, id=message.message_id, by=by)
    return get_message(draft.channel, message.message_id)


def _entries(draft: Draft) -> tuple[Entry, Entry]:
    channel = registry().channel(draft.channel.public_id)
    producer = registry().producer(draft.producer.public_id)
    if channel is None:
        raise UnknownChannel
    if producer is None:
        raise UnknownProducer
    return channel, producer


def _incoming(draft: Draft) -> Incoming:
    return Incoming(
        channel_id=draft.channel.pk,
        producer_id=draft.producer.pk,
        message_id=new_message_ids(1)[0],
        payload=draft.payload,
        content_type=draft.content_type,
        priority=draft.priority,
        headers={**draft.headers, **MARK},
    )


def _store_for_all(message: Incoming) -> None:
    stored = store_one(message)
    assert stored, "a new id was taken"
    transaction.on_commit(ring_fan_out)


def _store_for_one(message: Incoming, consumer: Consumer) -> None:
    stored = store_for_one(message, consumer_id=consumer.pk)
    if not stored.is_stored:
        raise ConsumerTakesNone
    transaction.on_commit(lambda: ring_work(stored.work))
