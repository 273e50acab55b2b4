"""What a rule asks, what was measured, and what the one says of the other."""

from dataclasses import dataclass
from enum import Enum

from channels_app.models import AlertKind


@dataclass(frozen=True)
class Subject:
    """What a number is of: a channel, a consumer of it, or a part of the broker."""

    channel_id: int | None = None
    consumer_id: int | None = None
    part: str = ""


@dataclass(frozen=True)
class Rule:
    """Of whom: everything, a channel, a consumer. Crossed for `hold_seconds` it begins; over for as long, it ends."""

    key: str
    name: str
    kind: AlertKind
    threshold: float
    hold_seconds: int = 0
    channel_id: int | None = None
    consumer_id: int | None = None
    # A rate of fewer tries says nothing.
    least_tries: int = 0
    to_webhook: bool = True
    to_email: bool = True
    addresses: tuple[str, ...] = ()

    def covers(self, subject: Subject) -> bool:
        if self.consumer_id:
            return subject.consumer_id == self.consumer_id
        return self.channel_id in (None, subject.channel_id)

    @property
    def closeness(self) -> int:
        """The closest rules of a kind decide: a consumer's own, else its channel's, else the one for all."""
        return 2 if self.consumer_id else 1 if self.channel_id else 0


@dataclass(frozen=True)
class Measured:
    """`value` None: there is no telling now, as of a rate without tries."""

    subject: Subject
    value: float | None
    tries: int = 0


class Reading(Enum):
    CROSSED = "crossed"
    CALM = "calm"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Verdict:
    """What a rule says of a number."""

    rule: Rule
    measured: Measured
    reading: Reading
