"""A history with all that may happen in it: made by chance, but the same for the same seed."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from channels_app.models import Channel, Consumer, DeliveryAttempt, DeliveryJob, JobStatus, Message, Producer
from dlq_app.models import Act, DeadLetterAct
from scheduling_app.models import ScheduledMessage, ScheduledStatus

# All that an id may have in it besides letters and digits.
ODD = "~odd..-_~"
# Clocks change in America on the first, in Europe on the third; nothing comes in from 03:00 to 06:00.
DAYS = tuple(datetime(2026, 3, day, tzinfo=UTC) for day in (8, 28, 29, 30))
HOURS = (0, 1, 2, 6, 7, 13, 23)
REASONS = ("http_5xx", "http_4xx", "timeout", "consumer_gone", "worker_lost")
HORIZONS = (1, 60, 61, 3600, 5000, 24 * 3600, 3 * 24 * 3600, 7 * 24 * 3600, 30 * 24 * 3600)
NOWHERE = 10**12


@dataclass
class History:
    chance: Random
    channels: list[Channel] = field(default_factory=list)
    consumers: list[Consumer] = field(default_factory=list)
    producers: list[Producer] = field(default_factory=list)

    def moment(self) -> datetime:
        """Now and then exactly at the hour."""
        hour = self.chance.choice(DAYS) + timedelta(hours=self.chance.choice(HOURS))
        return hour + timedelta(microseconds=self.chance.choice((0, *(self.chance.randrange(3600_000_000),) * 5)))

    def seconds(self, mean: float) -> timedelta:
        return timedelta(seconds=self.chance.expovariate(1 / mean))


@dataclass
class BusyHour(History):
    """Of one consumer, all in an hour: so many that a sketch of them is no longer exact."""

    def moment(self) -> datetime:
        return DAYS[1] + timedelta(hours=13, microseconds=self.chance.randrange(3600_000_000))


def make_busy_hour(history: History, *, numbers: range) -> None:
    busy = BusyHour(history.chance, history.channels[1:2], history.consumers[5:6], history.producers)
    make_traffic(busy, messages=numbers, scheduled=numbers)


def make_history(seed: int, *, messages: int, scheduled: int) -> History:
    history = History(Random(seed))
    make_registry(history)
    make_traffic(history, messages=range(messages), scheduled=range(scheduled))
    return history


def make_traffic(history: History, *, messages: range, scheduled: range) -> None:
    make_jobs(history, make_messages(history, messages))
    ScheduledMessage.objects.bulk_create([make_one_for_later(history, f"s{number}") for number in scheduled])


def make_registry(history: History) -> None:
    """Two channels of one name, the first deleted; so with consumers; and a consumer that is gone for good."""
    gone = datetime(2026, 3, 20, tzinfo=UTC)
    history.producers = [Producer.objects.create(public_id=name, name=name) for name in ("shop", "till", "-._~")]
    for name, deleted_at in (("orders", gone), ("orders", None), (ODD, None), ("quiet", None)):
        channel = Channel.objects.create(public_id=name, name=name, deleted_at=deleted_at)
        history.channels.append(channel)
        for consumer, ended_at in (("billing", gone), ("billing", None), ("left", gone), ("~.pull", None)):
            values: dict[str, Any] = {"type": "push", "callback_url": "http://127.0.0.1:9/", "deleted_at": ended_at}
            history.consumers.append(Consumer.objects.create(channel=channel, public_id=consumer, **values))


def make_messages(history: History, numbers: range) -> list[Message]:
    chance = history.chance
    rows = [
        Message(
            channel=chance.choice(history.channels[:3]),
            producer=chance.choice(history.producers),
            message_id=f"m{number}",
            payload=b"x" * chance.randrange(300),
            content_type="text/plain",
            received_at=history.moment(),
        )
        for number in numbers
    ]
    return Message.objects.bulk_create(rows)


def make_jobs(history: History, messages: list[Message]) -> None:
    jobs = [
        make_job(history, message, consumer)
        for message in messages
        for consumer in history.consumers
        if consumer.channel_id == message.channel_id and history.chance.random() < 0.5
    ]
    DeliveryJob.objects.bulk_create(jobs)
    DeliveryAttempt.objects.bulk_create([attempt for job in jobs for attempt in make_attempts(history, job)])
    DeadLetterAct.objects.bulk_create([act for job in jobs for act in make_acts(history, job)])


def make_job(history: History, message: Message, consumer: Consumer) -> DeliveryJob:
    chance = history.chance
    status = chance.choices(list(JobStatus), (1, 1, 10, 3))[0]
    made_at = message.received_at + history.seconds(2)
    # One in ten has lost its message, as pruning does it.
    lost = chance.random() < 0.1
    held = status == JobStatus.INFLIGHT or consumer.public_id == "~.pull"
    failures = 0 if status == JobStatus.QUEUED else chance.choice((0, 0, 0, 1, 2, 11))
    # Claims that were given back leave no row, but a higher number.
    given_back = chance.choice((0, 0, 0, 1, 2))
    attempt = given_back + (0 if status == JobStatus.QUEUED else failures + 1)
    return DeliveryJob(
        message_id=NOWHERE if lost else message.pk,
        channel_id=message.channel_id,
        consumer=consumer,
        priority=0,
        status=status,
        attempt=attempt,
        failures=failures,
        reason=chance.choice(REASONS) if status == JobStatus.DEAD else None,
        created_at=made_at,
        received_at=made_at + history.seconds(1) if held and attempt else None,
        status_changed_at=made_at + timedelta(seconds=1) + history.seconds(60),
    )


def make_attempts(history: History, job: DeliveryJob) -> list[DeliveryAttempt]:
    """All failed but the last of a job that was delivered. The first claims may have been given back."""
    if job.status == JobStatus.QUEUED:
        return []
    return [
        DeliveryAttempt(
            job=job,
            attempt=number,
            reason=None
            if job.status == JobStatus.DELIVERED and number == job.attempt
            else history.chance.choice(REASONS),
            duration_ms=history.chance.randrange(30_000),
            finished_at=job.created_at + number * history.seconds(300),
        )
        for number in range(job.attempt - job.failures, job.attempt + 1)
    ]


def make_acts(history: History, job: DeliveryJob) -> list[DeadLetterAct]:
    """It came in; some were requeued and died again, or were put away."""
    if job.status != JobStatus.DEAD:
        return []
    told = history.chance.choice(((), (Act.REQUEUED, Act.ENTERED), (Act.DISCARDED,), (Act.EDITED,)))
    return [
        DeadLetterAct(
            job=job,
            act=act,
            attempt=job.attempt,
            reason=job.reason if act == Act.ENTERED else None,
            at=job.status_changed_at + place * history.seconds(4000),
        )
        for place, act in enumerate((Act.ENTERED, *told))
    ]


def make_one_for_later(history: History, message_id: str) -> ScheduledMessage:
    chance = history.chance
    status = chance.choices(list(ScheduledStatus), (1, 8, 1, 1))[0]
    scheduled_for = history.moment()
    due_at = scheduled_for + chance.choice((timedelta(0), history.seconds(5)))
    known = status == ScheduledStatus.DISPATCHED and chance.random() < 0.95
    return ScheduledMessage(
        channel=chance.choice(history.channels[:3]),
        producer=chance.choice(history.producers),
        message_id=message_id,
        payload=b"x",
        content_type="text/plain",
        status=status,
        created_at=scheduled_for - timedelta(seconds=chance.choice(HORIZONS)),
        scheduled_for=scheduled_for,
        due_at=due_at,
        dispatched_at=due_at + history.seconds(8) if known else None,
    )
