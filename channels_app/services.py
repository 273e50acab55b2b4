"""The front doors for acts on channels, producers and consumers."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, TypeVar

import structlog
from django.db import IntegrityError, transaction
from django.db.models import Field
from django.db.models.functions import Now
from psycopg.errors import UniqueViolation

from broker_project.lib.conditions import AlreadyExists, ChangedMeanwhile, Condition, PreconditionMissing
from broker_project.lib.errors import BrokerError
from broker_project.lib.patterns import PUBLIC_ID
from broker_project.lib.webhooks import new_secret
from channels_app.delivery import deaths
from channels_app.delivery.work import Work
from channels_app.doorbell import ring_bury, ring_ready, ring_work
from channels_app.errors import (
    CallbackUrlMissing,
    ChannelExists,
    ConsumerExists,
    InvalidId,
    MessageInFlight,
    RateMissing,
    UnknownChannel,
    UnknownMessage,
)
from channels_app.models import (
    Channel,
    ChannelState,
    Consumer,
    ConsumerState,
    DeliveryAttempt,
    DeliveryJob,
    JobStatus,
    Message,
    MessageKey,
    MessageStatus,
    Producer,
    RegistryVersion,
)
from channels_app.models.consumer import ConsumerType
from channels_app.models.registry_object import RegistryObject, RegistryQuerySet
from channels_app.models.state import StateQuerySet
from channels_app.pull import devices
from channels_app.pull.index import start
from channels_app.reasons import Reason
from channels_app.registry import registry
from channels_app.tombstones import refuse_pruned

log = structlog.get_logger(__name__)

Values = dict[str, Any]
Object = TypeVar("Object", bound=RegistryObject)


def put(fresh: Object, *, values: Values, condition: Condition) -> tuple[Object, bool]:
    """Create the object, or change the one that has its id; says whether it is new.

    In `values` a column that is left out keeps its value, and None resets it to its default. `start_from` is no column:
    it says where a new consumer begins that polls by index, and is refused for one that is there.
    """
    if not PUBLIC_ID.fullmatch(fresh.public_id):
        raise InvalidId
    row = siblings(fresh).named(fresh.public_id).first()
    if row is None:
        condition.check_absent()
        return _create(fresh, values, AlreadyExists if condition.only_new else PreconditionMissing), True
    condition.check_present(changed_at=row.changed_at, etag=row.etag)
    if "start_from" in values:
        raise start.StartIsPast
    return _change(row, values), False


def create(fresh: Channel | Consumer, *, values: Values) -> Channel | Consumer:
    """Only if there is none with its id."""
    if not PUBLIC_ID.fullmatch(fresh.public_id):
        raise InvalidId
    taken = ChannelExists if isinstance(fresh, Channel) else ConsumerExists
    if siblings(fresh).named(fresh.public_id).exists():
        raise taken
    return _create(fresh, values, taken)


def ensure_producer(public_id: str) -> Producer:
    """For a door whose callers name none. Made when missing; of those who look at the same time, by one."""
    with suppress(AlreadyExists):
        return put(Producer(public_id=public_id), values={}, condition=Condition(only_new=True))[0]
    found: Producer = Producer.objects.named(public_id).get()
    return found


def delete(row: RegistryObject, *, condition: Condition) -> None:
    """A soft delete. A channel takes its consumers along: its id may be used again, for a channel with none."""
    condition.check_present(changed_at=row.changed_at, etag=row.etag)
    with transaction.atomic():
        if not siblings(row).retire(pk=row.pk, known=row.changed_at):
            raise ChangedMeanwhile
        row.refresh_from_db(fields=["changed_at", "deleted_at"])
        if isinstance(row, Channel):
            Consumer.objects.filter(channel=row).live().update(deleted_at=row.deleted_at)
    _know_at_once()
    transaction.on_commit(ring_bury)
    log.info("registry.deleted", kind=row._meta.model_name, id=row.public_id)


def pause(row: Channel | Consumer) -> None:
    """Nothing is sent until it is resumed; messages are accepted, jobs wait."""
    _state_of(row).filter(paused_at__isnull=True).update(paused_at=Now())
    log.info("delivery.paused", kind=row._meta.model_name, id=row.public_id)


def resume(row: Channel | Consumer) -> None:
    """Deliver again, whatever stopped it: a pause, a 410, an open breaker."""
    _state_of(row).resume()
    transaction.on_commit(ring_ready)
    log.info("delivery.resumed", kind=row._meta.model_name, id=row.public_id)


def rotate_secret(consumer: Consumer, *, overlap_seconds: float) -> Consumer:
    """A new signing secret; the one before signs along for a while, so that the consumer can change over."""
    values = {
        "signing_secret": new_secret(),
        "previous_secret": consumer.signing_secret,
        "previous_secret_until": Now() + timedelta(seconds=overlap_seconds),
    }
    if not siblings(consumer).change(pk=consumer.pk, known=consumer.changed_at, values=values):
        raise ChangedMeanwhile
    consumer.refresh_from_db(fields=[*values, "changed_at"])
    log.info("consumer.secret_rotated", id=consumer.public_id, overlap_seconds=overlap_seconds)
    return consumer


def release_device(consumer: Consumer, device_id: str) -> int:
    """For a device that died: what it holds goes back at once, without a failure; says how many jobs."""
    released = devices.release(consumer.pk, device_id)
    transaction.on_commit(lambda: ring_work(_work_for(consumer)))
    log.info("device.released", consumer=consumer.public_id, device=device_id, jobs=released)
    return released


def would_change(row: RegistryObject, values: Values) -> bool:
    """Whether these values differ from what the row has."""
    return any(getattr(row, name) != _meant(row, name, value) for name, value in values.items())


def siblings(row: RegistryObject) -> RegistryQuerySet:
    """The rows among which this one's public id is unique."""
    rows: RegistryQuerySet = type(row).objects.all()
    return rows.filter(channel=row.channel) if isinstance(row, Consumer) else rows


def _work_for(consumer: Consumer) -> Work:
    own = frozenset({consumer.pk})
    if consumer.type == ConsumerType.PUSH:
        return Work(push=own)
    return Work(pull=own, told=own if consumer.callback_url else frozenset())


def _state_of(row: Channel | Consumer) -> StateQuerySet:
    model = ChannelState if isinstance(row, Channel) else ConsumerState
    return model.objects.filter(pk=row.pk)


def _create(fresh: Object, values: Values, taken: type[BrokerError]) -> Object:
    """`taken` is what is said if somebody else has made it since we looked."""
    _apply(fresh, {name: value for name, value in values.items() if name != "start_from"})
    try:
        with transaction.atomic():
            if isinstance(fresh, Consumer):
                _hold_channel(fresh.channel)
            fresh.save(force_insert=True)
            if isinstance(fresh, Consumer):
                start.begin(fresh, values.get("start_from"))
    except IntegrityError as error:
        if not isinstance(error.__cause__, UniqueViolation):
            raise
        raise taken from error
    _know_at_once()
    log.info("registry.created", kind=fresh._meta.model_name, id=fresh.public_id)
    return fresh


def _hold_channel(channel: Channel) -> None:
    """A channel that is deleted meanwhile takes no new consumer along into the dark."""
    RegistryVersion.objects.lock()
    if not Channel.objects.live().filter(pk=channel.pk).select_for_update().exists():
        raise UnknownChannel


def _change(row: Object, values: Values) -> Object:
    known, polled = row.changed_at, isinstance(row, Consumer) and start.polls(row)
    _apply(row, values)
    with transaction.atomic():
        if not siblings(row).change(pk=row.pk, known=known, values={name: getattr(row, name) for name in values}):
            raise ChangedMeanwhile
        if isinstance(row, Consumer) and start.polls(row) != polled:
            start.change_over(row)
    _know_at_once()
    row.refresh_from_db(fields=["changed_at"])
    log.info("registry.changed", kind=row._meta.model_name, id=row.public_id, fields=sorted(values))
    return row


def _know_at_once() -> None:
    """Who is answered by this process may use what it made with the next request; others hear of it by the version."""
    # It is committed: that it cannot be looked at now is not the caller's trouble.
    transaction.on_commit(registry().refresh, robust=True)


def _apply(row: RegistryObject, values: Values) -> None:
    for name, value in values.items():
        setattr(row, name, _meant(row, name, value))
    if not row.name:
        row.name = row.public_id
    if row.rate_burst is not None and row.rate_per_second is None:
        raise RateMissing(errors=[_required("rateLimit.perSecond", "Needed for a burst.")])
    if isinstance(row, Consumer) and row.type == ConsumerType.PUSH and not row.callback_url:
        raise CallbackUrlMissing(errors=[_required("callbackUrl", "Needed for push.")])


def _required(field: str, detail: str) -> dict[str, str]:
    return {"field": field, "code": "required", "detail": detail}


def _meant(row: RegistryObject, name: str, value: Any) -> Any:
    """None is the column's default; for a name that is the id. (A token's default is a new one.)"""
    if value is not None:
        return value
    return row.public_id if name == "name" else _default(row, name)


def _default(row: RegistryObject, name: str) -> Any:
    column = row._meta.get_field(name)
    assert isinstance(column, Field)
    return column.get_default()


EXPUNGED = "Its message was expunged: there is nothing left to send. Discard it."
# An app that keeps a copy of a payload takes it out too, in the same transaction.
COPIES: list[Callable[[Message], object]] = []


def expunge(*, message: Message, by: str) -> None:
    """Takes the payload out for good and keeps the row; what still waits to be sent is not. Again changes nothing."""
    with transaction.atomic():
        # The message before its jobs: fan-out passes over a locked message, and claims lock jobs only.
        held = Message.objects.select_for_update().defer("payload").filter(pk=message.pk).first()
        if held is None:
            # It was there when it was asked for.
            refuse_pruned(MessageKey.objects.filter(channel_id=message.channel_id, message_id=message.message_id))
            raise UnknownMessage
        if held.expunged_at:
            return
        ended = _end_jobs_of(held)
        if held.status == MessageStatus.ACKNOWLEDGED:
            held.dispatch_to_nobody()
        Message.objects.filter(pk=held.pk).expunge(by=by)
        for take_out in COPIES:
            take_out(held)
    log.info("message.expunged", channel=message.channel.public_id, id=message.message_id, by=by, jobs_ended=len(ended))
    deaths.tell(ended, Reason.EXPIRED, EXPUNGED)


def _end_jobs_of(message: Message) -> list[int]:
    """What a consumer has, it has: its acknowledgement is not waited for, which may be days away."""
    jobs = DeliveryJob.objects.filter(message=message)
    held = list(jobs.open().order_by("pk").select_for_update())
    if any(job.status == JobStatus.INFLIGHT and job.received_at is None for job in held):
        raise MessageInFlight
    DeliveryAttempt.objects.bulk_create(_cut_short(job) for job in held if job.status == JobStatus.INFLIGHT)
    jobs.expire_open()
    return [job.pk for job in held]


def _cut_short(job: DeliveryJob) -> DeliveryAttempt:
    told = {"error": "The message was expunged.", "duration_ms": 0, "device_id": job.device_id}
    return DeliveryAttempt(job=job, attempt=job.attempt, reason=Reason.EXPIRED, **told)
