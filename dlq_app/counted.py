"""How many an operation would mean: exact where counters or a short look say so, else at least so many."""

from dataclasses import dataclass

MOST_COUNTED = 100_000


@dataclass(frozen=True)
class Counted:
    number: int
    is_exact: bool = True

    @property
    def total(self) -> int | None:
        """What progress can be measured by."""
        return self.number if self.is_exact else None
