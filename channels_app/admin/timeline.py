"""The story of a message: accepted, dispatched, and for each job every try, who has it, what it waits for, its end."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Prefetch, QuerySet

from channels_app.admin.states import of_consumer, written
from channels_app.models import DeliveryAttempt, DeliveryJob, JobStatus, Message
from channels_app.models.consumer import ConsumerType, PullMode
from channels_app.origins import origin_of
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
    # Whose end this is.
    attempt: DeliveryAttempt | None = None

    @property
    def clock(self) -> str:
        return stamp(self.at) if self.at else ""

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


def stamp(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03} UTC"


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
    if origin := origin_of(message):
        yield Moment("scheduled", "info", f"Asked for, to go on {stamp(origin.scheduled_for)}.", origin.asked_at, since)
    yield Moment("accepted", "info", f"Stored, from producer {message.producer}.", since)
    if message.dispatched_at is not None:
        yield Moment("dispatched", "info", "Its jobs were made.", message.dispatched_at, since)
    else:
        yield Moment("waiting", "warning", "Waits for fan-out: no jobs have been made yet.")
    if message.expunged_at is not None:
        text = f"Payload removed by {message.expunged_by}."
        yield Moment("expunged", "danger", text, message.expunged_at, since)


def story(job: DeliveryJob, since: datetime) -> JobStory:
    tries = list(job.attempts.all())
    before = [attempted(one, since) for one in tries if one.attempt < job.attempt]
    last = [attempted(one, since) for one in tries if one.attempt >= job.attempt]
    # A try has the time of its statement, its job that of the transaction: an end is not before what led to it.
    at = max([job.status_changed_at, *(one.finished_at for one in tries)])
    return JobStory(job, [*before, *_held(job, since), *(last or _released(job, since)), _end(job, since, at)])


def _held(job: DeliveryJob, since: datetime) -> Iterator[Moment]:
    """When its consumer got it, and began; the row knows it of the last attempt only."""
    if job.received_at is None:
        return
    word, text = _handed_over(job)
    yield Moment(word, "info", f"{text}{_on(job.device_id)}: attempt {job.attempt}.", job.received_at, since)
    if job.started_at is not None:
        text = f"The consumer has begun.{_by_its_clock(job.device_started_at)}"
        yield Moment("started", "info", text, job.started_at, since)


def _released(job: DeliveryJob, since: datetime) -> Iterator[Moment]:
    """It was somebody's, and is no more, and no try came to its end."""
    if job.received_at is not None and job.status == JobStatus.QUEUED:
        yield Moment("released", "info", "Given back, which counts no failure.", job.status_changed_at, since)


def _handed_over(job: DeliveryJob) -> tuple[str, str]:
    if job.consumer.type == ConsumerType.PUSH:
        return "received", "The consumer has it and acknowledges later"
    if job.consumer.pull_mode == PullMode.INDEX:
        return "polled", "Handed out by index"
    return "leased", "The consumer took it"


def _on(device_id: str | None) -> str:
    return f", device {device_id}" if device_id else ""


def _by_its_clock(at: datetime | None) -> str:
    return f" By the device's clock: {stamp(at)}." if at else ""


def attempted(attempt: DeliveryAttempt, since: datetime) -> Moment:
    word, tone, outcome = _outcome(attempt)
    text = f"Attempt {attempt.attempt}{_on(attempt.device_id)}: {outcome}."
    return Moment(word, tone, text, attempt.finished_at, since, attempt.error, attempt.answer, attempt)


def _outcome(attempt: DeliveryAttempt) -> tuple[str, str, str]:
    if attempt.reason == Reason.WORKER_LOST:
        return "lost", "warning", "our worker was lost, which counts as no failure (worker_lost)"
    answered = f"HTTP {attempt.status_code}" if attempt.status_code else ""
    outcome = ", ".join(filter(None, (answered, attempt.reason))) or "acknowledged"
    took = f"{outcome}, after {attempt.duration_ms:,} ms"
    return ("ok", "success", took) if attempt.ok else ("failed", "danger", took)


def _end(job: DeliveryJob, since: datetime, at: datetime) -> Moment:
    """Where the job stands."""
    match JobStatus(job.status):
        case JobStatus.DELIVERED:
            text = f"{_done(job)}{_by_its_clock(job.device_completed_at)}"
            return Moment("delivered", "success", text, at, since)
        case JobStatus.DEAD:
            text = f"Given up: {job.reason}. Failures: {job.failures}.{_by_its_clock(job.device_completed_at)}"
            return Moment("dead", "danger", text, at, since)
        case JobStatus.INFLIGHT:
            text = f"Attempt {job.attempt} is under way, {_until(job)}."
            return Moment("in flight", "info", text, at, since)
        case JobStatus.QUEUED:
            return _queued(job, since)


def _done(job: DeliveryJob) -> str:
    return "The consumer has it." if job.received_at is None else "The consumer has acknowledged it."


def _until(job: DeliveryJob) -> str:
    if job.lease_until is None:
        return "with no time limit"
    holder = "leased until" if job.received_at is None else "to be acknowledged until"
    return f"{holder} {written(job.lease_until)}"


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
