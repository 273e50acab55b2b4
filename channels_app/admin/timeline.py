"""The story of a message: accepted, dispatched, and for each job every try, what it waits for, and its end."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Prefetch, QuerySet

from channels_app.admin.states import of_consumer, written
from channels_app.models import DeliveryAttempt, DeliveryJob, JobStatus, Message
from channels_app.reasons import Reason

MOST_JOBS = 100
SEALED = ("consumer__token", "consumer__signing_secret", "consumer__previous_secret", "consumer__channel__token")

JOB_TONES = {"QUEUED": "warning", "INFLIGHT": "info", "DELIVERED": "success", "DEAD": "danger"}
MESSAGE_TONES = {"ACKNOWLEDGED": "warning", "DISPATCHED": "success"}


@dataclass(frozen=True)
class Moment:
    """A word with a colour, a sentence, and when; `answer` is what a consumer said, word for word."""

    word: str
    tone: str
    text: str
    at: datetime | None = None
    since: datetime | None = None
    error: str = ""
    answer: str = ""

    @property
    def clock(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S}.{self.at.microsecond // 1000:03} UTC" if self.at else ""

    @property
    def later(self) -> str:
        """How long after the message was accepted."""
        return span(self.at - self.since) if self.at and self.since else ""


@dataclass(frozen=True)
class JobStory:
    job: DeliveryJob
    moments: list[Moment]

    @property
    def tone(self) -> str:
        return JOB_TONES[self.job.status_name]


def span(length: timedelta) -> str:
    seconds = length.total_seconds()
    if seconds < 60:
        return f"{seconds:+.3f} s" if seconds < 10 else f"{seconds:+.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"+{hours} h {minutes} min" if hours else f"+{minutes} min {rest} s"


def told(jobs: QuerySet[DeliveryJob]) -> QuerySet[DeliveryJob]:
    """All that a story needs, in two queries. Secrets are not even read."""
    return (
        jobs.select_related("consumer__state", "consumer__channel__state")
        .defer(*SEALED)
        .prefetch_related(Prefetch("attempts", DeliveryAttempt.objects.order_by("pk")))
    )


def stories(message: Message) -> list[JobStory]:
    """One more than is shown, so that the page can say that there are more."""
    jobs = told(DeliveryJob.objects.filter(message=message)).order_by("pk")[: MOST_JOBS + 1]
    return [story(job, message.received_at) for job in jobs]


def beginning(message: Message) -> Iterator[Moment]:
    since = message.received_at
    yield Moment("accepted", "info", f"Stored, from producer {message.producer}.", since)
    if message.dispatched_at is not None:
        yield Moment("dispatched", "info", "Its jobs were made.", message.dispatched_at, since)
    else:
        yield Moment("waiting", "warning", "Waits for fan-out: no jobs have been made yet.")
    if message.expunged_at is not None:
        text = f"Payload removed by {message.expunged_by}."
        yield Moment("expunged", "danger", text, message.expunged_at, since)


def story(job: DeliveryJob, since: datetime) -> JobStory:
    tries = [attempted(attempt, since) for attempt in job.attempts.all()]
    return JobStory(job, [*tries, _end(job, since)])


def attempted(attempt: DeliveryAttempt, since: datetime) -> Moment:
    word, tone, outcome = _outcome(attempt)
    text = f"Attempt {attempt.attempt}: {outcome}."
    return Moment(word, tone, text, attempt.finished_at, since, attempt.error, attempt.answer)


def _outcome(attempt: DeliveryAttempt) -> tuple[str, str, str]:
    if attempt.reason == Reason.WORKER_LOST:
        return "lost", "warning", "our worker was lost, which counts as no failure (worker_lost)"
    answered = f"HTTP {attempt.status_code}" if attempt.status_code else ""
    outcome = ", ".join(filter(None, (answered, attempt.reason))) or "acknowledged"
    took = f"{outcome}, after {attempt.duration_ms:,} ms"
    return ("ok", "success", took) if attempt.ok else ("failed", "danger", took)


def _end(job: DeliveryJob, since: datetime) -> Moment:
    """Where the job stands."""
    at = job.status_changed_at
    match JobStatus(job.status):
        case JobStatus.DELIVERED:
            return Moment("delivered", "success", "The consumer has it.", at, since)
        case JobStatus.DEAD:
            return Moment("dead", "danger", f"Given up: {job.reason}. Failures: {job.failures}.", at, since)
        case JobStatus.INFLIGHT:
            text = f"Attempt {job.attempt} is under way, leased until {written(job.lease_until)}."
            return Moment("in flight", "info", text, at, since)
        case JobStatus.QUEUED:
            return _queued(job, since)


def _queued(job: DeliveryJob, since: datetime) -> Moment:
    state = of_consumer(job.consumer)
    held = f" {state.text}" if state.holds else ""
    if job.next_attempt_at is not None:
        text = f"Waits to be tried again, failures: {job.failures} of {budget(job)}.{held}"
        return Moment("next try", "warning", text, job.next_attempt_at, since)
    return Moment("ready", "warning", "Waits for its turn." + held)


def budget(job: DeliveryJob) -> int:
    """How many failures make a job dead."""
    own = job.consumer.retries
    return (job.consumer.channel.retries if own is None else own) + 1
