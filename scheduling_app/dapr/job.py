"""A job: as it is asked for, and what that comes to. Pure.

One with a due time alone runs once: it is a message for later. One with a schedule is a recurring schedule, which
begins at its due time if it has one (that is its first run), and ends after `repeats` runs or with its ttl.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from broker_project.lib.errors import BrokerError
from scheduling_app.dapr.durations import InvalidTime, read_moment
from scheduling_app.dapr.errors import DaprError
from scheduling_app.dapr.job_errors import JobError, JobNameEmpty, JobNameInvalid, JobNeverRuns, ScheduleEmpty
from scheduling_app.dapr.metadata import MOST_TTL_SECONDS
from scheduling_app.dapr.rhythms import InvalidRhythm, Rhythm, read_rhythm
from scheduling_app.dapr.topics import channel_id_of
from scheduling_app.models.recurring import MAX_ID_LENGTH
from scheduling_app.recurring.specs import make_spec
from scheduling_app.recurring.ticks import next_tick

JSON = "application/json"
MOST_REPEATS = 2**32 - 1
# Far enough before the end of time for what is reckoned from here.
_LAST_YEAR = 8999
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class JobIn:
    """As a client asks for it. `type_url` is that of data which came as google.protobuf.Any."""

    schedule: str | None = None
    due_time: str | None = None
    repeats: int | None = None
    ttl: str | None = None
    data: bytes = b"null"
    content_type: str = JSON
    type_url: str = ""
    failure_policy: Mapping[str, Any] | None = None
    overwrite: bool = False

    def remembered(self) -> dict[str, Any]:
        """What a row does not say itself."""
        values = {
            "schedule": self.schedule,
            "dueTime": self.due_time,
            "repeats": self.repeats,
            "ttl": self.ttl,
            "failurePolicy": self.failure_policy,
            "typeUrl": self.type_url or None,
        }
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def of(cls, remembered: Mapping[str, Any], *, data: bytes, content_type: str) -> "JobIn":
        return cls(
            schedule=remembered.get("schedule"),
            due_time=remembered.get("dueTime"),
            repeats=remembered.get("repeats"),
            ttl=remembered.get("ttl"),
            data=data,
            content_type=content_type,
            type_url=remembered.get("typeUrl", ""),
            failure_policy=remembered.get("failurePolicy"),
        )


@dataclass(frozen=True)
class Once:
    """When it runs, and how many seconds after that it is too late."""

    due_at: datetime
    ttl_seconds: int


@dataclass(frozen=True)
class Recurring:
    rhythm: Rhythm
    start_at: datetime
    first_at: datetime
    end_at: datetime | None
    max_ticks: int | None


def job_id_of(name: str) -> str:
    """As an id writes it; a header must be able to carry the name itself."""
    if not name.strip() or "|" in name or any(character < " " or character == "\x7f" for character in name):
        raise JobNameEmpty
    try:
        written = channel_id_of(name)
    except DaprError:
        raise JobNameInvalid from None
    if len(written) > MAX_ID_LENGTH:
        raise JobNameInvalid
    return written


def planned(job: JobIn, now: datetime) -> Once | Recurring:
    """What it comes to, or why it cannot."""
    if job.schedule is None and job.due_time is None:
        raise ScheduleEmpty
    try:
        due_at = None if job.due_time is None else max(now, read_moment(job.due_time, now))
        ends_at = None if job.ttl is None else read_moment(job.ttl, due_at or now)
        rhythm = None if job.schedule is None else read_rhythm(job.schedule)
    except (InvalidTime, InvalidRhythm) as refusal:
        raise JobError(refusal.detail) from None
    repeats = _repeats(job, rhythm)
    if ends_at is not None and ends_at <= (due_at or now):
        raise JobError("The ttl of a job ends after its due time, and after now.")
    if rhythm is None:
        assert due_at is not None
        return Once(due_at, _ttl(due_at, ends_at))
    return _recurring(rhythm, due_at, ends_at, now, repeats)


def _repeats(job: JobIn, rhythm: Rhythm | None) -> int | None:
    repeats = job.repeats if job.repeats is not None or rhythm is None else rhythm.repeats
    if repeats is None:
        return None
    if not 1 <= repeats <= MOST_REPEATS:
        raise JobError(f"The repeats of a job are 1 to {MOST_REPEATS}.")
    if rhythm is None and repeats > 1:
        raise JobError("A job needs a schedule to repeat.")
    return repeats


def _ttl(due_at: datetime, ends_at: datetime | None) -> int:
    """0: no other than the channel's."""
    if ends_at is None:
        return 0
    return min(MOST_TTL_SECONDS, math.ceil((ends_at - due_at).total_seconds()))


def _recurring(
    rhythm: Rhythm, due_at: datetime | None, ends_at: datetime | None, now: datetime, repeats: int | None
) -> Recurring:
    """Ticks are whole seconds: a due time in between counts as the next."""
    if max(due_at or now, ends_at or now).year > _LAST_YEAR:
        raise JobError(f"A job with a schedule begins and ends before the year {_LAST_YEAR + 1}.")
    start_at = _whole(now) if due_at is None else _whole(due_at + _SECOND - timedelta(microseconds=1))
    ends_at = None if ends_at is None else max(start_at, _whole(ends_at))
    first_at = start_at if due_at is not None else _first(rhythm, start_at, ends_at, now)
    return Recurring(rhythm, start_at, first_at, ends_at, repeats)


def _first(rhythm: Rhythm, start_at: datetime, end_at: datetime | None, now: datetime) -> datetime:
    try:
        spec = make_spec(
            cron=rhythm.cron,
            interval_seconds=rhythm.interval_seconds,
            timezone=rhythm.timezone,
            start_at=start_at,
            end_at=end_at,
        )
        first = next_tick(spec, now)
    except BrokerError as refusal:
        raise JobError(refusal.detail) from None
    if first is None:
        raise JobNeverRuns
    return first


def _whole(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)
