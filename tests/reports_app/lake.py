"""Old traffic, and slices of the lake as an export would leave them."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Max, Model
from django.utils import timezone

from channels_app.models import Channel, Consumer, DeliveryAttempt, DeliveryJob, JobStatus, Message, MessageKey
from dlq_app.models import DeadLetter, DeadLetterAct
from reports_app.models import LakeKind, LakeMark, LakeSlice, LakeWatermark
from scheduling_app.models import ScheduledMessage, ScheduledStatus
from tests.channels_app.messages import dispatch, make_messages

TABLES: dict[LakeKind, type[Model]] = {
    LakeKind.MESSAGE: Message,
    LakeKind.JOB: DeliveryJob,
    LakeKind.SCHEDULED: ScheduledMessage,
    LakeKind.ATTEMPT: DeliveryAttempt,
    LakeKind.LETTER_ACT: DeadLetterAct,
}
LONG_AGO = timedelta(days=40)


def make_old(channel: Channel, *names: str) -> list[Message]:
    """Delivered to every consumer at the first try, forty days ago."""
    rows = make_messages(channel, *names)
    dispatch(channel)
    ids = [row.pk for row in rows]
    jobs = DeliveryJob.objects.filter(message_id__in=ids)
    DeliveryAttempt.objects.bulk_create(DeliveryAttempt(job=job, attempt=1, duration_ms=5) for job in jobs)
    jobs.update(status=JobStatus.DELIVERED, attempt=1)
    age(*ids)
    return rows


def make_old_dead(consumer: Consumer, name: str) -> DeadLetter:
    [message] = make_old(consumer.channel, name)
    jobs = DeliveryJob.objects.filter(message=message, consumer=consumer)
    jobs.update(status=JobStatus.QUEUED)
    jobs.update(status=JobStatus.DEAD, reason="http_5xx")
    age(message.pk)
    return DeadLetter.objects.get(job__message=message)


def age(*message_ids: int, by: timedelta = LONG_AGO) -> None:
    then = timezone.now() - by
    Message.objects.filter(pk__in=message_ids).update(received_at=then)
    DeliveryJob.objects.filter(message_id__in=message_ids).update(created_at=then, status_changed_at=then)
    DeadLetter.objects.filter(message_id__in=message_ids).update(entered_at=then)


def export(*kinds: LakeKind) -> None:
    """Everything there is, of these tables or of all, in a slice each; no mark waits."""
    for kind in kinds or tuple(LakeKind):
        LakeSlice.objects.filter(kind=kind).delete()
        last = TABLES[kind]._default_manager.aggregate(last=Max("pk"))["last"]
        if last is not None:
            LakeSlice.objects.create(kind=kind, first_id=1, last_id=last, row_count=0, checksum=0, path=kind.label)
            LakeWatermark.objects.update_or_create(kind=kind, defaults={"until": last})
        LakeMark.objects.filter(kind=kind).delete()


def rows_left() -> dict[str, int]:
    """Of everything that hangs on a message."""
    models: list[Any] = [*TABLES.values(), DeadLetter]
    return {model._meta.db_table: model._default_manager.count() for model in models}


def run(statement: str, parameters: Any = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def left() -> set[str]:
    return set(Message.objects.values_list("message_id", flat=True))


def make_scheduled(channel: Channel, name: str, status: ScheduledStatus, *, days: float = 40) -> ScheduledMessage:
    then = timezone.now() - timedelta(days=days)
    producer = make_messages(channel, f"{name}-other")[0].producer
    row = ScheduledMessage.objects.create(
        channel=channel, producer=producer, message_id=name, payload=b"x", content_type="text/plain",
        status=status, scheduled_for=then, due_at=then, created_at=then, status_changed_at=then,
    )  # fmt: skip
    if status == ScheduledStatus.CANCELLED:
        MessageKey.objects.create(channel_id=channel.pk, message_id=name, row_id=row.pk, scheduled=True)
    return row


def statements_of(act: Callable[[], Any]) -> list[tuple[str, Any]]:
    """What an act runs; it is taken back."""
    told: list[tuple[str, Any]] = []

    def listen(execute: Any, sql: str, parameters: Any, *rest: Any) -> Any:
        if sql.lstrip().startswith("WITH"):
            told.append((sql, parameters))
        return execute(sql, parameters, *rest)

    with transaction.atomic(), connection.execute_wrapper(listen):
        act()
        transaction.set_rollback(True)
    return told
