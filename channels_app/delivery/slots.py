"""How many tries a consumer may have under way: grows with quick successes, halves when it cannot keep up."""

from collections.abc import Iterable

from channels_app.delivery.retry import Outcome
from channels_app.reasons import Reason

QUICK_MS = 1_000
FEWEST = 1


def next_slots(slots: int, outcomes: Iterable[Outcome], *, most: int) -> int:
    """Pure: the slots after these outcomes. Several timeouts at once are one sign, not several."""
    seen = list(outcomes)
    if any(outcome.reason is Reason.TIMEOUT for outcome in seen):
        return max(FEWEST, slots // 2)
    quick = sum(outcome.ok and outcome.duration_ms < QUICK_MS for outcome in seen)
    return min(most, slots + quick)
