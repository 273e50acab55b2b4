"""Which letters are meant: one description for lists, for acts on many, and for the operations that carry them out."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.contrib.postgres.search import SearchQuery
from django.db.models import QuerySet, Value

from dlq_app.models import DeadLetter
from dlq_app.models.dead_letter import DeadLetterQuerySet, only_words

Letters = TypeVar("Letters", bound=QuerySet[DeadLetter])
# From a moment on, and before another.
Window = tuple[datetime | None, datetime | None]
# A letter may stand behind others of its transaction's last seconds.
SLACK = timedelta(minutes=1)


@dataclass(frozen=True)
class LetterFilter:
    """Open letters with all of these; what is None does not matter. Ids are rows' ids."""

    channel_id: int | None = None
    consumer_id: int | None = None
    reason: str | None = None
    fingerprint: int | None = None
    # Words of the error, all of them, in any order and case.
    words: str | None = None
    entered_from: datetime | None = None
    entered_before: datetime | None = None

    def letters(self) -> DeadLetterQuerySet:
        named = {
            "channel_id": self.channel_id,
            "consumer_id": self.consumer_id,
            "reason": self.reason,
            "fingerprint": self.fingerprint,
            "words": words_asked(self.words) if self.words else None,
        }
        known = {name: value for name, value in named.items() if value is not None}
        return within(DeadLetter.objects.open().filter(**known), (self.entered_from, self.entered_before))

    def as_parameters(self) -> dict[str, Any]:
        """For an operation's row."""
        told = {name: value for name, value in asdict(self).items() if value is not None}
        return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in told.items()}

    @classmethod
    def from_parameters(cls, told: dict[str, Any]) -> "LetterFilter":
        times = ("entered_from", "entered_before")
        values: dict[str, Any] = {
            name: datetime.fromisoformat(value) if name in times else value for name, value in told.items()
        }
        return cls(**values)


def words_asked(text: str) -> SearchQuery:
    return SearchQuery(only_words(Value(text)), config="simple")


def within(letters: Letters, window: Window) -> Letters:
    """Ids rise with time: the place of a time among them lets a page be read in their order, whatever is beside it."""
    since, before = window
    by_time = DeadLetter.objects.open().values_list("pk", flat=True)
    if since:
        last = by_time.filter(entered_at__lt=_moved(since, -SLACK)).order_by("-entered_at").first()
        letters = letters.filter(entered_at__gte=since, **({"pk__gt": last} if last else {}))
    if before:
        first = by_time.filter(entered_at__gte=_moved(before, SLACK)).order_by("entered_at").first()
        letters = letters.filter(entered_at__lt=before, **({"pk__lt": first} if first else {}))
    return letters


def _moved(at: datetime, by: timedelta) -> datetime:
    """The ends of time stay where they are."""
    return at + by if 1 < at.year < 9999 else at
