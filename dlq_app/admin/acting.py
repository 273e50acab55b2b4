"""What staff do to letters that they have chosen, and to all of a consumer."""

from collections.abc import Sequence

from dlq_app import services
from dlq_app.filters import LetterFilter
from dlq_app.models import DeadLetter


def requeue(letters: Sequence[DeadLetter], *, by: str, note: str) -> None:
    services.requeue_jobs(job_ids=[letter.job_id for letter in letters], by=by, note=note)


def discard(letters: Sequence[DeadLetter], *, by: str, note: str) -> None:
    services.discard_jobs(job_ids=[letter.job_id for letter in letters], by=by, note=note)


def clear(*, consumer_id: int, by: str, note: str) -> services.Acted:
    """What is open of a consumer now."""
    return services.discard_all(letters=LetterFilter(consumer_id=consumer_id).letters(), by=by, note=note)
