"""Acts on dead letters, by whoever may: queue again, discard, edit and send again. Each is logged and kept."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import structlog
from django.conf import settings
from django.db import transaction

from broker_project.lib.errors import BrokerError
from channels_app.delivery.work import Work
from channels_app.doorbell import ring_work
from channels_app.models import DeliveryJob, JobStatus, Message, Operation
from channels_app.models.consumer import ConsumerType, PullMode
from dlq_app import redrive
from dlq_app.discard import MOST, Discarded, discard
from dlq_app.edit import Content, Edited, edit
from dlq_app.errors import (
    AlreadyResolved,
    ChannelGone,
    ConsumerGone,
    EditedIdTaken,
    LetterNotKept,
    MessageExpunged,
    NotDead,
    NothingToEdit,
    PayloadTooLarge,
    PolledByIndex,
    RequeuedTooOften,
    UnknownLetter,
)
from dlq_app.filters import LetterFilter
from dlq_app.models import DeadLetter
from dlq_app.models.dead_letter import DeadLetterQuerySet
from dlq_app.requeue import Requeued, requeue

log = structlog.get_logger(__name__)

# Somebody waits for the answer.
MOST_SECONDS = 10.0


@dataclass(frozen=True)
class Acted:
    """How many letters went, and how many stay as they were. `is_complete`: there was time to look at all of them.

    `rest`: who looks at the others.
    """

    moved: int = 0
    left: int = 0
    is_complete: bool = False
    rest: Operation | None = None


def requeue_all(*, chosen: LetterFilter, by: str, note: str = "") -> Acted:
    """In batches, each a transaction of its own; an operation has the rest. What cannot be sent any more stays."""
    acted, ahead = _in_batches(chosen.letters(), partial(_requeue_some, by=by, note=note))
    if not acted.is_complete:
        acted = replace(acted, rest=redrive.begin(chosen=chosen, by=by, note=note, ids=ahead))
    log.info("dead_letters.requeued", count=acted.moved, left=acted.left, by=by, note=note)
    return acted


def requeue_jobs(*, job_ids: Sequence[int], by: str, note: str = "") -> Acted:
    acted = _named(job_ids, _requeue_some(DeadLetter.objects.filter(job_id__in=job_ids), by=by, note=note))
    log.info("dead_letters.requeued", jobs=list(job_ids), count=acted.moved, left=acted.left, by=by, note=note)
    return acted


def requeue_job(*, job: DeliveryJob, by: str, note: str = "") -> None:
    """Or says why not."""
    if not _requeue_some(DeadLetter.objects.filter(job_id=job.pk), by=by, note=note).moved:
        raise _why_not_requeued(job.pk)
    log.info("dead_letter.requeued", job=job.pk, by=by, note=note)


def discard_all(*, letters: DeadLetterQuerySet, by: str, note: str = "") -> Acted:
    """The jobs stay DEAD, and their letters leave all lists and counts."""
    acted, _ = _in_batches(letters, partial(discard, by=by, note=note, most=MOST))
    log.info("dead_letters.discarded", count=acted.moved, by=by, note=note)
    return acted


def discard_jobs(*, job_ids: Sequence[int], by: str, note: str = "") -> Acted:
    acted = _named(job_ids, discard(DeadLetter.objects.filter(job_id__in=job_ids), by=by, note=note))
    log.info("dead_letters.discarded", jobs=list(job_ids), count=acted.moved, left=acted.left, by=by, note=note)
    return acted


def discard_job(*, job: DeliveryJob, by: str, note: str = "") -> None:
    if not discard(DeadLetter.objects.filter(job_id=job.pk), by=by, note=note).moved:
        raise _why_not_resolved(job.pk) or AlreadyResolved()
    log.info("dead_letter.discarded", job=job.pk, by=by, note=note)


def edit_and_send(*, job: DeliveryJob, content: Content, by: str, note: str = "") -> Edited:
    """A new message for the letter's consumer only; the original stays, and its letter names the new one."""
    if content.is_empty:
        raise NothingToEdit
    if content.payload is not None and len(content.payload) > settings.MAX_PAYLOAD_BYTES:
        raise PayloadTooLarge
    with transaction.atomic():
        letter = _hold(job.pk, content)
        edited = edit(letter, content, by=by, note=note)
        if edited is None:
            raise EditedIdTaken
        _ring(edited.work)
    log.info("dead_letter.edited", job=job.pk, message=edited.message_id, new_job=edited.job_id, by=by, note=note)
    return edited


Batch = Requeued | Discarded


def _in_batches(letters: DeadLetterQuerySet, act: Callable[[DeadLetterQuerySet], Batch]) -> tuple[Acted, redrive.Ids]:
    """All that are open now, the oldest first: what dies again meanwhile has a newer id, and is not meant.

    Also says which ids were not looked at.
    """
    newest = redrive.newest_id()
    deadline, last, acted = time.monotonic() + MOST_SECONDS, 0, Acted()
    while time.monotonic() < deadline:
        batch = act(letters.filter(pk__gt=last, pk__lte=newest))
        is_last = batch.chosen < MOST
        acted = Acted(acted.moved + batch.moved, acted.left + batch.chosen - batch.moved, is_last)
        if is_last:
            break
        last = batch.last_id or newest
    return acted, redrive.Ids(last, newest)


def _requeue_some(letters: DeadLetterQuerySet, *, by: str, note: str) -> Requeued:
    done = requeue(letters, by=by, note=note, most=MOST, most_times=settings.DLQ_MAX_REPLAYS)
    _ring(done.work)
    return done


def _ring(work: Work) -> None:
    transaction.on_commit(partial(ring_work, work))


def _named(job_ids: Sequence[int], batch: Batch) -> Acted:
    return Acted(batch.moved, len(set(job_ids)) - batch.moved, is_complete=True)


def _hold(job_id: int, content: Content) -> DeadLetter:
    """The message first, as whoever expunges it does; then the job, as everybody who resolves letters does."""
    message = DeliveryJob.objects.filter(pk=job_id).values("message_id")
    if Message.objects.select_for_update().only("pk").filter(pk__in=message).first() is None:
        raise UnknownLetter
    DeliveryJob.objects.select_for_update().only("pk").get(pk=job_id)
    refusal = _why_not_resolved(job_id) or _why_not_edited(_letter(job_id), content)
    if refusal is not None:
        raise refusal
    return _letter(job_id)


def _letter(job_id: int) -> DeadLetter:
    rows = DeadLetter.objects.select_related("message", "consumer", "channel").defer("message__payload")
    return rows.get(job_id=job_id)


def _why_not_resolved(job_id: int) -> BrokerError | None:
    job = DeliveryJob.objects.only("status").filter(pk=job_id).first()
    if job is None:
        return UnknownLetter()
    if job.status != JobStatus.DEAD:
        return NotDead()
    letter = DeadLetter.objects.filter(job_id=job_id).first()
    if letter is None:
        return LetterNotKept()
    return AlreadyResolved(f"This dead letter was {letter.resolution} already.") if letter.resolution else None


def _why_not_requeued(job_id: int) -> BrokerError:
    refusal = _why_not_resolved(job_id)
    if refusal is not None:
        return refusal
    letter = _letter(job_id)
    if letter.message.expunged_at:
        return MessageExpunged()
    return _why_not_sent(letter) or RequeuedTooOften()


def _why_not_edited(letter: DeadLetter, content: Content) -> BrokerError | None:
    if letter.message.expunged_at and content.payload is None:
        return MessageExpunged()
    return _why_not_sent(letter)


def _why_not_sent(letter: DeadLetter) -> BrokerError | None:
    if letter.channel.deleted_at:
        return ChannelGone()
    if letter.consumer.deleted_at:
        return ConsumerGone()
    polls = letter.consumer.type == ConsumerType.PULL and letter.consumer.pull_mode == PullMode.INDEX
    return PolledByIndex() if polls else None
