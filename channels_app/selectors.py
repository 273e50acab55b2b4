"""Reads across models, by public ids."""

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import Prefetch

from broker_project.lib.patterns import PUBLIC_ID, row_id
from channels_app.errors import (
    UnknownChannel,
    UnknownConsumer,
    UnknownJob,
    UnknownMessage,
    UnknownOperation,
    UnknownProducer,
)
from channels_app.models import (
    Channel,
    Consumer,
    CounterKind,
    DeliveryAttempt,
    DeliveryJob,
    JobStatus,
    Message,
    MessageKey,
    MessageStatus,
    Operation,
    Producer,
)
from channels_app.tombstones import refuse_pruned

# What is folded and what is not yet, together: exact after every commit, and as small as the registry.
_JOB_COUNTS = """
SELECT channel.public_id, consumer.public_id, status, sum(count)
FROM (SELECT channel_id, consumer_id, status, count FROM counter WHERE kind = 2
      UNION ALL SELECT channel_id, consumer_id, status, count FROM counter_delta WHERE kind = 2) AS counted
JOIN channel ON channel.id = channel_id JOIN consumer ON consumer.id = consumer_id
GROUP BY channel.public_id, consumer.public_id, status HAVING sum(count) <> 0 ORDER BY 1, 2, 3
"""

# The same for one channel: a handful of folded rows by primary key, and its deltas of the last seconds by index.
_MESSAGE_COUNTS = """
SELECT status, sum(count)
FROM (SELECT status, count FROM counter WHERE kind = %(kind)s AND channel_id = %(channel)s
      UNION ALL SELECT status, count FROM counter_delta WHERE kind = %(kind)s AND channel_id = %(channel)s) AS counted
GROUP BY status
"""


def get_producer(public_id: str) -> Producer:
    producer = Producer.objects.named(public_id).first()
    if producer is None:
        raise UnknownProducer
    return producer


def get_channel(public_id: str) -> Channel:
    channel = Channel.objects.named(public_id).first()
    if channel is None:
        raise UnknownChannel
    return channel


def get_channel_or_past(public_id: str) -> Channel:
    """For history: the live channel with this id, else the one that was deleted last."""
    if not PUBLIC_ID.fullmatch(public_id):
        raise UnknownChannel
    live = Channel.objects.named(public_id).first()
    channel = live or Channel.objects.filter(public_id=public_id).order_by("-deleted_at", "-pk").first()
    if channel is None:
        raise UnknownChannel
    return channel


def get_consumer(channel: Channel, public_id: str) -> Consumer:
    consumer = Consumer.objects.filter(channel=channel).named(public_id).first()
    if consumer is None:
        raise UnknownConsumer
    return consumer


def get_message(channel: Channel, message_id: str, *, prefetch: Sequence[Any] = ()) -> Message:
    """By way of its key: the message table has no index on ids."""
    if not PUBLIC_ID.fullmatch(message_id):
        raise UnknownMessage
    # The key of a message for later names a row of another table.
    keys = MessageKey.objects.filter(channel_id=channel.pk, message_id=message_id, scheduled=False)
    rows = Message.objects.select_related("producer").prefetch_related(*prefetch)
    message = rows.filter(pk__in=keys.values("row_id")).first()
    if message is None:
        refuse_pruned(keys)
        raise UnknownMessage
    message.channel = channel
    return message


def get_job(consumer: Consumer, public_id: str) -> DeliveryJob:
    """With its message and every try."""
    attempts = Prefetch("attempts", DeliveryAttempt.objects.order_by("id"))
    jobs = DeliveryJob.objects.select_related("message", "consumer").prefetch_related(attempts)
    job = jobs.filter(pk=row_id(public_id), consumer=consumer).first()
    if job is None:
        raise UnknownJob
    return job


def get_operation(public_id: str) -> Operation:
    known = PUBLIC_ID.fullmatch(public_id)
    operation = Operation.objects.select_related("channel").filter(public_id=public_id).first() if known else None
    if operation is None:
        raise UnknownOperation
    return operation


def job_counts() -> dict[str, dict[str, dict[str, int]]]:
    """channel -> consumer -> state -> how many."""
    counts: dict[str, dict[str, dict[str, int]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_JOB_COUNTS)
        for channel, consumer, status, count in cursor.fetchall():
            counts.setdefault(channel, {}).setdefault(consumer, {})[JobStatus(status).name] = int(count)
    return counts


def message_counts(channel: Channel) -> dict[MessageStatus, int]:
    """How many messages of a channel are in each state, from counters: every state is there."""
    counts = dict.fromkeys(MessageStatus, 0)
    with connection.cursor() as cursor:
        cursor.execute(_MESSAGE_COUNTS, {"kind": CounterKind.MESSAGE, "channel": channel.pk})
        counts |= {MessageStatus(status): int(count) for status, count in cursor.fetchall()}
    return counts
