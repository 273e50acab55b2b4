"""What is shown of each result: a constant number of queries, however many there are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from channels_app.admin.timeline import JOB_TONES, MESSAGE_TONES
from channels_app.models import Channel, Consumer, DeliveryJob, Message, MessageKey
from dlq_app.admin.asking import cut
from dlq_app.models import DeadLetter
from scheduling_app.admin.story import TONES as SCHEDULED_TONES
from scheduling_app.admin.story import because
from scheduling_app.models import ScheduledMessage
from watch_app.explorer.walks import Hit

SHOWN_ERROR = 160

_OF_A_MESSAGE = ("message_id", "channel_id", "status", "received_at")
_OF_A_JOB = ("message_id", "consumer_id", "status", "reason")
_OF_ONE_FOR_LATER = ("message_id", "channel_id", "status", "reason", "created_at", "due_at")

Rows = dict[int, Any]


@dataclass(frozen=True)
class Found:
    """`detail`: why it stands as it does, where that can be said."""

    at: datetime | None
    message_id: str
    channel: str
    status: str
    tone: str
    consumer: str = ""
    detail: str = ""


def shown(hits: Sequence[Hit]) -> list[Found]:
    """What was pruned since it was found is left out."""
    read = _Read(hits)
    told = (read.told(hit) for hit in hits)
    return [found for found in told if found is not None]


def shown_keys(keys: Sequence[MessageKey]) -> list[Found]:
    """By their keys: also what was pruned."""
    here = [key for key in keys if key.pruned_at is None]
    hits = [Hit(scheduled=key.row_id) if key.scheduled else Hit(message=key.row_id) for key in here]
    gone = [key for key in keys if key.pruned_at is not None]
    names = _Names(gone, ())
    pruned = [Found(key.pruned_at, key.message_id, names.channel(key), "PRUNED", "info") for key in gone]
    return [*shown(hits), *pruned]


class _Names:
    """Public ids of the channels and consumers that rows point to."""

    def __init__(self, rows: Iterable[Any], jobs: Iterable[Any]) -> None:
        self._channels = _by_id(Channel.objects.only("public_id"), (row.channel_id for row in rows))
        self._consumers = _by_id(Consumer.objects.only("public_id"), (job.consumer_id for job in jobs))

    def channel(self, row: Any) -> str:
        return str(self._channels[row.channel_id])

    def consumer(self, job: DeliveryJob) -> str:
        return str(self._consumers[job.consumer_id])


def _by_id(rows: Any, ids: Iterable[int | None]) -> Rows:
    wanted = {row_id for row_id in ids if row_id is not None}
    found: Rows = rows.in_bulk(wanted)
    return found


class _Read:
    """All rows that the hits name, and those that these point to."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        letters, jobs = DeadLetter.objects.only("reason", "error", "entered_at"), DeliveryJob.objects.only(*_OF_A_JOB)
        self._letters = _by_id(letters, (hit.letter for hit in hits))
        self._jobs = _by_id(jobs, (hit.job for hit in hits))
        named = {*(hit.message for hit in hits), *(job.message_id for job in self._jobs.values())}
        self._messages = _by_id(Message.objects.only(*_OF_A_MESSAGE), named)
        self._later = _by_id(ScheduledMessage.objects.only(*_OF_ONE_FOR_LATER), (hit.scheduled for hit in hits))
        self._names = _Names([*self._messages.values(), *self._later.values()], self._jobs.values())

    def told(self, hit: Hit) -> Found | None:
        if hit.scheduled is not None:
            row = self._later.get(hit.scheduled)
            return _scheduled(row, self._names) if row else None
        job = self._jobs.get(hit.job or 0)
        message = self._messages.get(job.message_id if job else hit.message or 0)
        if message is None:
            return None
        letter = self._letters.get(hit.letter or 0)
        return _job(message, job, letter, self._names) if job else _message(message, self._names)


def _message(message: Message, names: _Names) -> Found:
    status = message.status_name
    return Found(message.received_at, message.message_id, names.channel(message), status, MESSAGE_TONES[status])


def _scheduled(row: ScheduledMessage, names: _Names) -> Found:
    status = row.status_name
    detail = because(row.reason) or f"Due {row.due_at:%Y-%m-%d %H:%M:%S} UTC"
    return Found(row.created_at, row.message_id, names.channel(row), status, SCHEDULED_TONES[status], detail=detail)


def _job(message: Message, job: DeliveryJob, letter: DeadLetter | None, names: _Names) -> Found:
    status, why = job.status_name, job.reason or ""
    if letter is not None:
        why = f"{letter.reason}: {cut(letter.error, SHOWN_ERROR)}" if letter.error else letter.reason
    at = letter.entered_at if letter else message.received_at
    return Found(
        at, message.message_id, names.channel(message), status, JOB_TONES[status], names.consumer(job), detail=why
    )
