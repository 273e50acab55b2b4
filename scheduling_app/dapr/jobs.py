"""Dapr's jobs: an application's jobs go to the topic {app-id}-jobs, each with the name of its job in a header."""

import asyncio
from datetime import UTC, datetime, timedelta

from channels_app.delivery.accept import Incoming, new_message_ids
from channels_app.known import in_thread, known, surely
from channels_app.registry import Entry
from scheduling_app.accept import Later
from scheduling_app.dapr import job_rows
from scheduling_app.dapr.caller import Caller, looking, storing
from scheduling_app.dapr.components import Pubsub, channel_at_hand, channel_of
from scheduling_app.dapr.errors import DaprError
from scheduling_app.dapr.job import JobIn, Once, Recurring, job_id_of, planned
from scheduling_app.dapr.job_errors import JobExists, JobNotDeleted, JobNotFound, JobsChannelTooLong, JobTaken
from scheduling_app.dapr.topics import channel_id_of
from scheduling_app.door import limits
from scheduling_app.door.commits import put_shot
from scheduling_app.door.later import spread_over
from scheduling_app.door.loads import least_loaded
from scheduling_app.models import RecurringSchedule
from scheduling_app.shots import Shot

HEADER = "Dapr-Job-Name"
# Their channel is made when missing, whatever the components say.
_JOBS = Pubsub("", enable_delayed_messaging=True, create_topics=True)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def jobs_channel_id(caller: Caller) -> str:
    """Where the jobs of an application go. No id has a slash: what has one is of a namespace, and of one only."""
    topic = f"{caller.app_id}/{caller.namespace}-jobs" if caller.namespace else f"{caller.app_id}-jobs"
    try:
        return channel_id_of(topic)
    except DaprError:
        raise JobsChannelTooLong from None


async def schedule(caller: Caller, name: str, job: JobIn) -> None:
    """Stored when this returns; refused, nothing is."""
    written, now = job_id_of(name), datetime.now(UTC)
    plan = planned(job, now)
    channel = await channel_of(caller, jobs_channel_id(caller), _JOBS)
    if limits.are_set(channel, caller.producer):
        await limits.check(channel, caller.producer, 1)
    caller = await storing(caller)
    if isinstance(plan, Recurring):
        row = _row(caller, channel, name, job, plan)
        await in_thread(lambda: job_rows.make_recurring(row, overwrite=job.overwrite, now=now))
    elif not await put_shot(_shot(caller, channel, name, job, plan)):
        raise (JobTaken if job.overwrite else JobExists)(job=written)


def put_at_hand(caller: Caller, name: str, job: JobIn) -> asyncio.Future[bool] | None:
    """The same for one that runs once, where nobody must be asked; None: somebody must. False: the name is taken."""
    channel = channel_at_hand(caller, jobs_channel_id(caller))
    if channel is None or not caller.has_stored or job.schedule is not None or limits.are_set(channel, caller.producer):
        return None
    plan = planned(job, datetime.now(UTC))
    assert isinstance(plan, Once)
    return put_shot(_shot(caller, channel, name, job, plan))


async def get(caller: Caller, name: str) -> JobIn:
    """As it was asked for; one that has run, or is over, is not there."""
    written, channel, caller = job_id_of(name), await _channel(caller), await looking(caller)
    if channel is None:
        raise JobNotFound(job=written)
    found: JobIn | None = await in_thread(lambda: job_rows.find(channel.row_id, written, caller.producer.row_id))
    if found is None:
        raise JobNotFound(job=written)
    return found


async def delete(caller: Caller, name: str) -> None:
    """It does not run any more; what it has sent is on its way."""
    written, channel, caller = job_id_of(name), await _channel(caller), await looking(caller)
    if channel is None or not await in_thread(lambda: job_rows.delete(channel.row_id, written, caller.producer.row_id)):
        raise JobNotDeleted(job=written)


async def _channel(caller: Caller) -> Entry | None:
    """Another process may have made it a moment ago, for its first job."""
    channel_id = jobs_channel_id(caller)
    return await surely(lambda: known("channel", channel_id))


def _shot(caller: Caller, channel: Entry, name: str, job: JobIn, plan: Once) -> Shot:
    written = job_id_of(name)
    message = Incoming(
        channel.row_id,
        caller.producer.row_id,
        f"{written}-{new_message_ids(1)[0]}",
        job.data,
        job.content_type,
        0,
        _headers(name),
        least_loaded(channel),
        plan.ttl_seconds,
    )
    times = spread_over((plan.due_at - _EPOCH) // _MICROSECOND, channel)
    return Shot(Later(message, times), written, job.remembered(), job.overwrite)


def _row(caller: Caller, channel: Entry, name: str, job: JobIn, plan: Recurring) -> RecurringSchedule:
    row = job_rows.recurring_row(plan, job)
    row.channel_id, row.producer_id = channel.row_id, caller.producer.row_id
    row.public_id, row.headers = job_id_of(name), _headers(name)
    return row


def _headers(name: str) -> dict[str, str]:
    """A character for each byte, as headers are kept."""
    return {HEADER: name.encode().decode("latin1")}
