"""Conditional updates: what a client says it knows of a row, against what the row says."""

from dataclasses import dataclass
from datetime import datetime

from broker_project.lib.errors import BrokerError


class PreconditionMissing(BrokerError):
    """It exists: say which state of it you mean by If-Match (its ETag, or * for whatever is there now) or
    If-Unmodified-Since (its Last-Modified).
    """


class PreconditionInvalid(BrokerError):
    """If-Unmodified-Since is not an HTTP date, such as Tue, 15 Nov 1994 12:45:26 GMT."""


class ChangedMeanwhile(BrokerError):
    """It is not in the state that you know: read it again, then decide."""

    status = 412


class AlreadyExists(BrokerError):
    """It exists, and If-None-Match: * asks to create only."""

    status = 412


@dataclass(frozen=True)
class Condition:
    """The state a client knows; with nothing given, none."""

    unmodified_since: datetime | None = None
    etags: frozenset[str] = frozenset()
    only_new: bool = False

    def check_absent(self) -> None:
        """There is no row: an ETag says that the client has seen one."""
        if self.etags:
            raise ChangedMeanwhile

    def check_present(self, *, changed_at: datetime, etag: str) -> None:
        if self.only_new:
            raise AlreadyExists
        if not self.etags and self.unmodified_since is None:
            raise PreconditionMissing
        if self.etags and not self.etags & {etag, "*"}:
            raise ChangedMeanwhile
        if not self.etags and self.unmodified_since != changed_at:
            raise ChangedMeanwhile
