"""Jobs as rows: those that recur are made here; of either kind, one is found or deleted by its name."""

from datetime import datetime
from functools import partial

import structlog
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from broker_project.lib.bound import fetch
from scheduling_app.bells import ring_tick
from scheduling_app.dapr.job import JobIn, Recurring
from scheduling_app.dapr.job_errors import JobExists, JobTaken
from scheduling_app.models import RecurringSchedule, ScheduledMessage
from scheduling_app.models.recurring import RecurringQuerySet
from scheduling_app.models.scheduled_message import ScheduledMessageQuerySet
from scheduling_app.shots import JOBS_LOCK

log = structlog.get_logger(__name__)


def make_recurring(row: RecurringSchedule, *, overwrite: bool, now: datetime) -> None:
    """The schedule of a job, unless another job has its name. One that has ended is out of the way."""
    with transaction.atomic():
        fetch("SELECT pg_advisory_xact_lock(%s::bigint)::text", [JOBS_LOCK + row.channel_id])
        if overwrite:
            _forget(row.channel_id, row.public_id, row.producer_id, reason="overwritten")
        if _is_taken(row):
            raise (JobTaken if overwrite else JobExists)(job=row.public_id)
        _ended(row.channel_id, row.public_id).update(deleted_at=Now())
        row.save(force_insert=True)
        assert row.next_at is not None
        transaction.on_commit(partial(ring_tick, (row.next_at - now).total_seconds()))
    log.info("job.recurs", job=row.public_id, channel=row.channel_id)


def recurring_row(plan: Recurring, job: JobIn) -> RecurringSchedule:
    """Without its place: channel, producer, id and headers."""
    return RecurringSchedule(
        cron=plan.rhythm.cron,
        interval_seconds=plan.rhythm.interval_seconds,
        timezone=plan.rhythm.timezone,
        payload=job.data,
        content_type=job.content_type,
        start_at=plan.start_at,
        end_at=plan.end_at,
        next_at=plan.first_at,
        max_ticks=plan.max_ticks,
        job=job.remembered(),
    )


def find(channel_id: int, name: str, producer_id: int) -> JobIn | None:
    """One that is still to run; another producer's is not shown."""
    found = _waiting(channel_id, name).filter(producer_id=producer_id).first() or (
        _ticking(channel_id, name).filter(producer_id=producer_id).first()
    )
    if found is None:
        return None
    return JobIn.of(found.job or {}, data=bytes(found.payload), content_type=found.content_type)


def delete(channel_id: int, name: str, producer_id: int) -> bool:
    """Whether there was one that was still to run."""
    with transaction.atomic():
        deleted = _forget(channel_id, name, producer_id, reason=None)
    if deleted:
        log.info("job.deleted", job=name, channel=channel_id)
    return deleted


def _forget(channel_id: int, name: str, producer_id: int, *, reason: str | None) -> bool:
    cancelled = _waiting(channel_id, name).filter(producer_id=producer_id).cancel(reason=reason)
    ticking = _ticking(channel_id, name).filter(producer_id=producer_id)
    return bool(cancelled + ticking.update(deleted_at=Now(), next_at=None))


def _is_taken(row: RecurringSchedule) -> bool:
    """A schedule that is no job has the name too, and keeps it when it has ended: it is not ours to delete."""
    schedules = _schedules(row.channel_id, row.public_id).filter(Q(next_at__isnull=False) | Q(job__isnull=True))
    return schedules.exists() or _waiting(row.channel_id, row.public_id).exists()


def _waiting(channel_id: int, name: str) -> ScheduledMessageQuerySet:
    return ScheduledMessage.objects.waiting().filter(channel_id=channel_id, job_name=name)


def _ticking(channel_id: int, name: str) -> RecurringQuerySet:
    return _schedules(channel_id, name).filter(job__isnull=False, next_at__isnull=False)


def _ended(channel_id: int, name: str) -> RecurringQuerySet:
    return _schedules(channel_id, name).filter(job__isnull=False, next_at=None)


def _schedules(channel_id: int, name: str) -> RecurringQuerySet:
    return RecurringSchedule.objects.live().filter(channel_id=channel_id, public_id=name)
