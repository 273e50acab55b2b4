"""Which letters are meant: one description for lists, for acts on many, and for the operations that carry them out."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.contrib.postgres.search import SearchQuery

from dlq_app.models import DeadLetter
from dlq_app.models.dead_letter import DeadLetterQuerySet


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
            "words": SearchQuery(self.words, config="simple") if self.words else None,
            "entered_at__gte": self.entered_from,
            "entered_at__lt": self.entered_before,
        }
        return DeadLetter.objects.open().filter(**{name: value for name, value in named.items() if value is not None})

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
