"""Which walk finds what is asked for: each along an index that is there for the engine's own work."""

from dataclasses import replace
from typing import Any

from channels_app.models import Consumer, JobStatus, MessageStatus
from scheduling_app.models import ScheduledStatus
from watch_app.explorer.asked import FOR_LATER, OF_JOBS, OF_MESSAGES, Asked, Kind
from watch_app.explorer.places import ids_between
from watch_app.explorer.walks import REACH, Walk, gather

# A walk past messages looks at all jobs of each: where a channel has many consumers, it passes fewer messages.
LEAST_MESSAGES = 100

# Open work: indexes that are short when all is well, in no order that helps here.
_WAITING = "SELECT id FROM message WHERE status = 100 LIMIT %(most)s"
_IN_FLIGHT = "SELECT id FROM delivery_job WHERE status = 1002 AND {whose} LIMIT %(most)s"
_QUEUED = """
(SELECT id FROM delivery_job WHERE status = 1001 AND next_attempt_at IS NULL AND {whose} LIMIT %(most)s)
UNION ALL
(SELECT id FROM delivery_job WHERE status = 1001 AND next_attempt_at IS NOT NULL AND {whose} LIMIT %(most)s)
LIMIT %(most)s
"""
_OPEN_JOBS = {JobStatus.QUEUED: _QUEUED, JobStatus.INFLIGHT: _IN_FLIGHT}
# By job_by_message. Not ordered: the planner might read the primary key instead.
_A_JOB = """
CROSS JOIN LATERAL (
    SELECT j.id FROM delivery_job j WHERE j.message_id = looked_at.id AND {conditions} LIMIT 1
) AS job
"""
# As dead letters keep their words.
_WORDS = "words @@ plainto_tsquery('simple', regexp_replace(%(words)s, '[^[:alnum:]]+', ' ', 'g'))"


def way_of(asked: Asked) -> Walk:
    if asked.is_for_later:
        return _for_later(asked)
    if asked.is_of_errors:
        return _letters(asked)
    return _jobs(asked) if asked.is_of_jobs else _messages(asked)


def _messages(asked: Asked) -> Walk:
    status = OF_MESSAGES.get(asked.status)
    values = {"channel_id": asked.channel_id, "status": status}
    walk = Walk(Kind.MESSAGE, "message", "id, status, received_at", {"message": "looked_at.id"}, values=values)
    if status == MessageStatus.ACKNOWLEDGED and asked.channel_id:
        return _timed(asked, "received_at", _asking(walk, along=("channel_id", "status")))
    if status == MessageStatus.ACKNOWLEDGED:
        walk = _among(walk, gather(_WAITING, {}))
    return _timed(asked, "received_at", _asking(walk, along=("channel_id",), beside=("status",)))


def _for_later(asked: Asked) -> Walk:
    status = FOR_LATER[asked.status]
    values = {"channel_id": asked.channel_id, "status": status}
    walk = Walk(
        Kind.SCHEDULED, "scheduled_message", "id, status, created_at", {"scheduled": "looked_at.id"}, values=values
    )
    if asked.channel_id or status == ScheduledStatus.SET_ASIDE:
        return _timed(asked, "created_at", _asking(walk, along=("channel_id", "status")))
    return _timed(asked, "created_at", _asking(walk, beside=("status",)))


def _letters(asked: Asked) -> Walk:
    """Open ones. Each of these columns has an index, two together have none."""
    values = {"consumer_id": asked.consumer_id, "channel_id": asked.channel_id, "reason": asked.reason or None}
    first = next((name for name, value in values.items() if value is not None), "")
    walk = Walk(
        Kind.LETTER,
        "dead_letter",
        "id, job_id, channel_id, consumer_id, reason, words, entered_at",
        {"job": "looked_at.job_id", "letter": "looked_at.id"},
        along=["resolution IS NULL"],
        beside=[_WORDS] if asked.words else [],
        values={**values, "words": asked.words},
    )
    others = tuple(name for name in values if name != first)
    return _timed(asked, "entered_at", _asking(walk, along=(first,), beside=others))


def _jobs(asked: Asked) -> Walk:
    """Those of a channel by way of its messages; else, and where few are open, by the jobs themselves."""
    values = {
        "channel_id": asked.channel_id,
        "consumer_id": asked.consumer_id,
        "status": OF_JOBS.get(asked.status),
        "reason": asked.reason or None,
    }
    found = _open_jobs(asked)
    if found is None and asked.channel_id:
        return _past_messages(asked, values)
    columns = "id, message_id, channel_id, consumer_id, status, reason, created_at"
    walk = _among(Walk(Kind.JOB, "delivery_job", columns, {"job": "looked_at.id"}, values=values), found)
    return _timed(asked, "created_at", _asking(walk, beside=tuple(values)))


def _open_jobs(asked: Asked) -> list[int] | None:
    """None: no such index has them, or too many."""
    status = OF_JOBS.get(asked.status)
    if status not in _OPEN_JOBS:
        return None
    whose = "consumer_id = ANY(%(consumers)s)" if asked.channel_id else "true"
    return gather(_OPEN_JOBS[status].format(whose=whose), {"consumers": _consumers(asked)})


def _past_messages(asked: Asked, values: dict[str, Any]) -> Walk:
    conditions = [f"j.{name} = %({name})s" for name in ("consumer_id", "status", "reason") if values[name] is not None]
    consumers = _of_channel(asked).count()
    walk = Walk(
        Kind.MESSAGE,
        "message",
        "id, received_at",
        {"message": "looked_at.id", "job": "job.id"},
        joined=_A_JOB.format(conditions=" AND ".join(conditions) or "true"),
        values=values,
        reach=max(LEAST_MESSAGES, REACH // max(1, consumers)),
    )
    return _timed(asked, "received_at", _asking(walk, along=("channel_id",)))


def _consumers(asked: Asked) -> list[int]:
    if asked.consumer_id is not None:
        return [asked.consumer_id]
    return list(_of_channel(asked).values_list("pk", flat=True))


def _of_channel(asked: Asked) -> Any:
    return Consumer.objects.filter(channel_id=asked.channel_id) if asked.channel_id else Consumer.objects.none()


def _asking(walk: Walk, *, along: tuple[str, ...] = (), beside: tuple[str, ...] = ()) -> Walk:
    """Columns with the values that were asked for; one that was not is left out."""
    return replace(walk, along=walk.along + _equal(walk, along), beside=walk.beside + _equal(walk, beside))


def _equal(walk: Walk, names: tuple[str, ...]) -> list[str]:
    return [f"{name} = %({name})s" for name in names if walk.values.get(name) is not None]


def _among(walk: Walk, ids: list[int] | None) -> Walk:
    """Only these rows, where they are known."""
    if ids is None:
        return walk
    return replace(walk, along=[*walk.along, "id = ANY(%(ids)s)"], values={**walk.values, "ids": ids})


def _timed(asked: Asked, column: str, walk: Walk) -> Walk:
    floor, below = ids_between(walk.table, column, asked.since, asked.until)
    limits = {"since": f"{column} >= %(since)s", "until": f"{column} < %(until)s"}
    times = {"since": asked.since, "until": asked.until}
    beside = [limit for name, limit in limits.items() if times[name] is not None]
    return replace(walk, beside=walk.beside + beside, values={**walk.values, **times}, floor=floor, below=below)
