"""Acts on recurring schedules, and reads of one; by whoever may."""

from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Field
from django.db.models.functions import Now
from django.utils import timezone
from psycopg.errors import UniqueViolation

from broker_project.lib.conditions import AlreadyExists, ChangedMeanwhile, Condition, PreconditionMissing
from broker_project.lib.patterns import PUBLIC_ID
from channels_app.models import Channel
from scheduling_app.bells import ring_dispatch, ring_tick
from scheduling_app.dispatch import Lane
from scheduling_app.errors import (
    AlreadyRun,
    CronOrInterval,
    DelayedMessagingDisabled,
    EndsBeforeStart,
    InvalidScheduleId,
    NeverTicks,
    PayloadTooLarge,
    ScheduleIncomplete,
    ScheduleProducerGone,
    UnknownSchedule,
)
from scheduling_app.models import Missed, RecurringSchedule
from scheduling_app.models.recurring import MAX_ID_LENGTH
from scheduling_app.recurring.specs import spec_of
from scheduling_app.recurring.template import BY_HAND, message_id, render
from scheduling_app.recurring.tick import Tick, store
from scheduling_app.recurring.ticks import count_ticks, last_tick, next_tick, ticks_after

log = structlog.get_logger(__name__)

Values = dict[str, Any]
# What decides when it ticks.
TIMES = ("cron", "interval_seconds", "timezone", "start_at", "end_at")


def get(channel: Channel, public_id: str) -> RecurringSchedule:
    rows = RecurringSchedule.objects.filter(channel=channel).named(public_id)
    found: RecurringSchedule | None = rows.select_related("producer").first()
    if found is None:
        raise UnknownSchedule
    found.channel = channel
    return found


def preview(schedule: RecurringSchedule, *, count: int, now: datetime | None = None) -> list[datetime]:
    """The next ticks by the schedule's own clock, as if it were not paused."""
    if schedule.deleted_at:
        return []
    spec = spec_of(schedule)
    return [at.astimezone(spec.zone) for at in islice(ticks_after(spec, now or timezone.now()), count)]


def put(
    *, channel: Channel, public_id: str, values: Values, condition: Condition, now: datetime | None = None
) -> tuple[RecurringSchedule, bool]:
    """Create the schedule, or change the one with this id; says whether it is new.

    In `values` a column that is left out keeps its value, and None resets it to its default.
    """
    if not PUBLIC_ID.fullmatch(public_id) or len(public_id) > MAX_ID_LENGTH:
        raise InvalidScheduleId
    now = now or timezone.now()
    try:
        row = get(channel, public_id)
    except UnknownSchedule:
        condition.check_absent()
        return _create(RecurringSchedule(channel=channel, public_id=public_id), values, condition, now), True
    condition.check_present(changed_at=row.changed_at, etag=row.etag)
    with transaction.atomic():
        return _change(row, values, now), False


def delete(schedule: RecurringSchedule, *, condition: Condition) -> None:
    """It ticks no more; messages that it made stay, and a later one may have its id."""
    condition.check_present(changed_at=schedule.changed_at, etag=schedule.etag)
    gone = {"deleted_at": Now(), "next_at": None}
    if not RecurringSchedule.objects.change(pk=schedule.pk, known=schedule.changed_at, values=gone):
        raise ChangedMeanwhile
    log.info("schedule.deleted", channel=schedule.channel.public_id, schedule=schedule.public_id)


def pause(schedule: RecurringSchedule, *, by: str, note: str = "") -> bool:
    """No tick is made until it is resumed. Paused already: the first note stays, and this says False."""
    moved = bool(RecurringSchedule.objects.filter(pk=schedule.pk).pause(by=by, note=note))
    schedule.refresh_from_db()
    if moved:
        log.info("schedule.paused", channel=schedule.channel.public_id, schedule=schedule.public_id, by=by)
    return moved


def resume(schedule: RecurringSchedule, *, by: str, now: datetime | None = None) -> bool:
    """What was missed meanwhile is skipped here, or else the step's to make. Not paused: this says False."""
    now = now or timezone.now()
    with transaction.atomic():
        held = RecurringSchedule.objects.live().select_for_update().filter(pk=schedule.pk).first()
        if held is None:
            raise UnknownSchedule
        moved = bool(RecurringSchedule.objects.filter(pk=held.pk).resume(**_skipped(held, now)))
    schedule.refresh_from_db()
    if moved:
        _ring_for(schedule, now)
        log.info("schedule.resumed", channel=schedule.channel.public_id, schedule=schedule.public_id, by=by)
    return moved


def run_once(schedule: RecurringSchedule, *, by: str, now: datetime | None = None) -> str:
    """A message now, beside the ticks: they go on as if nothing had been. Gives its id."""
    if schedule.deleted_at or schedule.channel.deleted_at:
        raise UnknownSchedule
    if schedule.producer.deleted_at:
        raise ScheduleProducerGone
    at = now or timezone.now()
    made = message_id(schedule.public_id, at) + BY_HAND
    payload = _rendered(schedule, at)
    if not store([Tick(schedule.pk, made, payload, at)]):
        raise AlreadyRun
    transaction.on_commit(partial(ring_dispatch, Lane(schedule.channel_id, 0), 0))
    log.info("schedule.run_once", channel=schedule.channel.public_id, schedule=schedule.public_id, by=by)
    return made


def _skipped(row: RecurringSchedule, now: datetime) -> Values:
    """Where it goes on after a pause: what was due then was missed, however short the pause."""
    if row.paused_at is None:
        return {}
    spec = spec_of(row)
    if row.next_at is None or row.next_at > now or row.missed == Missed.ALL:
        return {}
    past = count_ticks(spec, row.next_at, now)
    if row.missed == Missed.ONE:
        return {"next_at": last_tick(spec, row.next_at, now), "skipped": F("skipped") + past - 1}
    return {"next_at": next_tick(spec, now), "skipped": F("skipped") + past}


def _create(row: RecurringSchedule, values: Values, condition: Condition, now: datetime) -> RecurringSchedule:
    if not row.channel.delayed_messaging:
        raise DelayedMessagingDisabled
    if not values.get("producer") or not values.get("payload") or not (values.keys() & {"cron", "interval_seconds"}):
        raise ScheduleIncomplete
    _apply(row, {"start_at": None, **values}, now)
    row.next_at = _first(row, now)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError as error:
        if not isinstance(error.__cause__, UniqueViolation):
            raise
        # Somebody made it since we looked: as if it had been there.
        raise (AlreadyExists if condition.only_new else PreconditionMissing) from error
    log.info("schedule.created", channel=row.channel.public_id, schedule=row.public_id)
    _ring_for(row, now)
    return row


def _change(row: RecurringSchedule, values: Values, now: datetime) -> RecurringSchedule:
    before, known = [getattr(row, name) for name in TIMES], row.changed_at
    _apply(row, values, now)
    new = {name: getattr(row, name) for name in values}
    if [getattr(row, name) for name in TIMES] != before:
        first = _first(row, now)
        new["next_at"] = _due(row, now) or first
    if not RecurringSchedule.objects.change(pk=row.pk, known=known, values=new):
        raise ChangedMeanwhile
    row.refresh_from_db(fields=["changed_at", "next_at", "last_tick_at", "ticks", "skipped"])
    log.info("schedule.changed", channel=row.channel.public_id, schedule=row.public_id, fields=sorted(values))
    _ring_for(row, now)
    return row


def _apply(row: RecurringSchedule, values: Values, now: datetime) -> None:
    for name, value in values.items():
        setattr(row, name, _default(row, name, now) if value is None else value)
    if (row.cron is None) is (row.interval_seconds is None):
        raise CronOrInterval
    if row.end_at is not None and row.end_at < row.start_at:
        raise EndsBeforeStart
    if len(_rendered(row, now)) > settings.MAX_PAYLOAD_BYTES:
        raise PayloadTooLarge


def _default(row: RecurringSchedule, name: str, now: datetime) -> Any:
    """A schedule starts now; this second is over, so that an interval ticks first when it has passed once."""
    if name == "start_at":
        return now.astimezone(UTC).replace(microsecond=0)
    column = row._meta.get_field(name)
    assert isinstance(column, Field)
    return column.get_default()


def _rendered(row: RecurringSchedule, at: datetime) -> bytes:
    if not row.is_template:
        return bytes(row.payload)
    return render(bytes(row.payload), channel=row.channel.public_id, schedule=row.public_id, tick=at)


def _due(row: RecurringSchedule, now: datetime) -> datetime | None:
    """The tick that was due by the old times and is not made yet, unless by the new ones it lies outside.

    Holds the row: the step may be making that very tick.
    """
    held = RecurringSchedule.objects.live().select_for_update().filter(pk=row.pk).first()
    if held is None or held.coming_at is None or held.coming_at > now:
        return None
    is_inside = row.start_at <= held.coming_at and (row.end_at is None or held.coming_at <= row.end_at)
    return held.coming_at if is_inside else None


def _first(row: RecurringSchedule, now: datetime) -> datetime:
    first = next_tick(spec_of(row), now)
    if first is None:
        raise NeverTicks
    return first


def _ring_for(row: RecurringSchedule, now: datetime) -> None:
    if row.coming_at is not None:
        transaction.on_commit(partial(ring_tick, (row.coming_at - now).total_seconds()))
