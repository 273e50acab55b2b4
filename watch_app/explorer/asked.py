"""What a search asks for, as a value. Rows of the registry are known by then: a search reads no names."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from channels_app.models import JobStatus, MessageStatus
from scheduling_app.models import ScheduledStatus


class Kind(StrEnum):
    """What a place among the results counts: its cursor is worth nothing to a walk along something else."""

    MESSAGE = "m"
    JOB = "j"
    LETTER = "l"
    SCHEDULED = "s"


# A word of an address, and the state that it stands for.
OF_MESSAGES = {"acknowledged": MessageStatus.ACKNOWLEDGED, "dispatched": MessageStatus.DISPATCHED}
FOR_LATER = {
    "scheduled": ScheduledStatus.SCHEDULED,
    "cancelled": ScheduledStatus.CANCELLED,
    "set_aside": ScheduledStatus.SET_ASIDE,
}
OF_JOBS = {
    "queued": JobStatus.QUEUED,
    "in_flight": JobStatus.INFLIGHT,
    "delivered": JobStatus.DELIVERED,
    "dead": JobStatus.DEAD,
}
DEAD = "dead"


@dataclass(frozen=True)
class Cursor:
    """Older than this row."""

    kind: Kind
    row_id: int

    def __str__(self) -> str:
        return f"{self.kind}{self.row_id}"

    @classmethod
    def of(cls, text: str) -> "Cursor | None":
        kind, digits = text[:1], text[1:]
        legal = kind in set(Kind) and digits.isascii() and digits.isdigit() and len(digits) < 19
        return cls(Kind(kind), int(digits)) if legal else None


@dataclass(frozen=True)
class Asked:
    """What is None or empty does not matter. A consumer comes with its channel.

    `with_later`: an id is looked for among messages for later, too.
    """

    message_id: str = ""
    channel_id: int | None = None
    consumer_id: int | None = None
    status: str = ""
    since: datetime | None = None
    until: datetime | None = None
    reason: str = ""
    words: str = ""
    older_than: Cursor | None = None
    with_later: bool = True

    @property
    def is_for_later(self) -> bool:
        return self.status in FOR_LATER

    @property
    def is_of_errors(self) -> bool:
        """Dead letters have indexes for this."""
        return self.status == DEAD or bool(self.words) or bool(self.reason and not self.status)

    @property
    def is_of_jobs(self) -> bool:
        return self.status in OF_JOBS or self.consumer_id is not None

    def before(self, kind: Kind) -> int | None:
        return self.older_than.row_id if self.older_than and self.older_than.kind == kind else None
