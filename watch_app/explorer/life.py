"""The life of a message: what happened to it, and for each consumer every try, wait and act, in order."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from math import inf
from operator import itemgetter

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType

from channels_app.admin import timeline
from channels_app.admin.timeline import JobStory, Moment
from channels_app.models import DeliveryAttempt, DeliveryJob, JobStatus, Message
from channels_app.models.consumer import ConsumerType
from channels_app.origins import origin_of
from dlq_app.admin import story as letters
from dlq_app.models import Act, DeadLetterAct
from scheduling_app.admin import story as scheduling
from scheduling_app.models import ScheduledMessage, ScheduledStatus
from watch_app.explorer.axis import duration

MOST_ACTS = 50
# Of one consumer; of more the oldest are left out.
MOST_MOMENTS = 200
# A job has the time of its statement, its message that of the transaction.
SAME_MOMENT = timedelta(seconds=10)


@dataclass(frozen=True)
class Lane:
    """What is told of the message itself, or of one consumer: `job` and `attempts` are of the latter."""

    title: str
    moments: list[Moment]
    job: DeliveryJob | None = None
    attempts: tuple[DeliveryAttempt, ...] = ()
    left_out: int = 0

    @property
    def tone(self) -> str:
        return timeline.JOB_TONES[self.job.status_name] if self.job else "info"

    @property
    def is_pushed(self) -> bool:
        """Whether its tries are requests of ours."""
        return self.job is not None and self.job.consumer.type == ConsumerType.PUSH


@dataclass(frozen=True)
class Life:
    """`is_final`: nothing more will happen by itself. `waits_until`: it sleeps until then."""

    beginning: Lane
    lanes: list[Lane]
    is_final: bool
    more_jobs: bool = False
    waits_until: datetime | None = None


def life_of(message: Message, *, with_letters: bool) -> Life:
    """Of one that was accepted."""
    stories = timeline.stories(message)
    shown, more = stories[: timeline.MOST_JOBS], len(stories) > timeline.MOST_JOBS
    acts = _acts([story.job.pk for story in shown]) if with_letters else {}
    beginning, noted = list(timeline.beginning(message)), _deeds(_asked_for(message), message)
    return Life(
        Lane("message", _in_order(beginning, noted)),
        [_lane(story, acts.get(story.job.pk, []), message) for story in shown],
        is_final=message.dispatched_at is not None and not more and all(story.job.is_final for story in shown),
        more_jobs=more,
    )


def life_for_later(message: ScheduledMessage, now: datetime) -> Life:
    """Of one that has not been dispatched, or never will be."""
    moments = _in_order(list(scheduling.story(message, now)), _deeds(message.pk, None))
    waits = message.status == ScheduledStatus.SCHEDULED
    until = message.due_at if waits else None
    return Life(Lane("for later", moments), [], is_final=not waits, waits_until=until)


def _lane(story: JobStory, acts: Sequence[DeadLetterAct], message: Message) -> Lane:
    job = story.job
    attempts = tuple(job.attempts.all())
    # Where it stands says the same as the last entry of its letter.
    told = [act for act in acts if not (act.act == Act.ENTERED and _is_the_end(act, job))]
    beside = [*_made_later(job, message), *_replays(attempts), *letters.history(told)]
    moments = _in_order(story.moments, beside)
    left_out = max(0, len(moments) - MOST_MOMENTS)
    return Lane(str(job.consumer), moments[left_out:], job, attempts[-MOST_MOMENTS:], left_out)


def _is_the_end(act: DeadLetterAct, job: DeliveryJob) -> bool:
    return job.status == JobStatus.DEAD and act.attempt == job.attempt


def _made_later(job: DeliveryJob, message: Message) -> Iterable[Moment]:
    """Fan-out makes all jobs in the transaction that dispatches the message; one made after that is an operation's."""
    if message.dispatched_at is not None and job.created_at - message.dispatched_at > SAME_MOMENT:
        text = "Its job was made later: it had been missed."
        yield Moment("added", "info", text, job.created_at, message.received_at)


def _replays(attempts: Sequence[DeliveryAttempt]) -> Iterable[Moment]:
    """A try after one that went well: an operation has sent it again."""
    for before, after in pairwise(attempts):
        if before.ok:
            began = after.finished_at - timedelta(milliseconds=after.duration_ms)
            yield Moment("replayed", "info", "Sent again, though it had been delivered.", began)


def _acts(job_ids: list[int]) -> dict[int, list[DeadLetterAct]]:
    acts: dict[int, list[DeadLetterAct]] = defaultdict(list)
    for act in DeadLetterAct.objects.filter(job_id__in=job_ids).order_by("pk"):
        acts[act.job_id].append(act)
    return acts


def _asked_for(message: Message) -> int | None:
    origin = origin_of(message)
    return origin.row_id if origin else None


def _deeds(scheduled_id: int | None, message: Message | None) -> list[Moment]:
    """What staff did to it by the admin's pages: changed its time, sent it as a test."""
    kinds = ContentType.objects.get_for_models(Message, ScheduledMessage)
    entries = LogEntry.objects.none()
    for model, row_id in ((Message, message.pk if message else None), (ScheduledMessage, scheduled_id)):
        if row_id is not None:
            entries = entries | LogEntry.objects.filter(content_type=kinds[model], object_id=str(row_id))
    noted = entries.select_related("user").order_by("pk")[:MOST_ACTS]
    return [
        Moment("staff", "info", f"{entry.get_change_message()} (by {entry.user}).", entry.action_time)
        for entry in noted
    ]


def _in_order(story: Sequence[Moment], beside: Iterable[Moment]) -> list[Moment]:
    """A story stays in its own order, whatever its rows' clocks say; what was noted beside it goes in by its time."""
    placed: list[tuple[float, int, Moment]] = []
    latest = 0.0
    for moment in story:
        latest = max(latest, moment.at.timestamp()) if moment.at else inf
        placed.append((latest, 0, moment))
    placed += [(moment.at.timestamp() if moment.at else inf, 1, moment) for moment in beside]
    return [moment for _, _, moment in sorted(placed, key=itemgetter(0, 1))]


def waits(attempts: Sequence[DeliveryAttempt]) -> dict[int, str]:
    """Of each try but the first: how long it was after the one before."""
    told = {}
    for before, after in pairwise(attempts):
        began = after.finished_at - timedelta(milliseconds=after.duration_ms)
        told[after.pk] = duration(max(0.0, (began - before.finished_at).total_seconds()))
    return told
