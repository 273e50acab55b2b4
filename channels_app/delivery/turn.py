"""One consumer's turn: how many more may be sent to it now. No socket, no database."""

from dataclasses import dataclass, field

from channels_app.delivery.rate import Rate
from channels_app.delivery.retry import Outcome
from channels_app.delivery.slots import next_slots
from channels_app.delivery.target import Target

MOST_CLAIMED = 100
# Answered but not yet written: more than this, and the database is what cannot keep up.
MOST_UNSETTLED = 1_000
# A turn without a free slot for so long ends: until an answer rings, the worker's thread is for other consumers.
FULL_SECONDS = 0.05


@dataclass
class Hand:
    """What this process has to do with one consumer, between turns too."""

    has_turn: bool = False
    # Rung for during its turn: there may be more than the turn has seen.
    is_rung: bool = False
    under_way: int = 0
    unsettled: int = 0
    # Its last answer came while a turn would still have waited for it.
    is_quick: bool = False
    # A turn ended for want of a slot: the next answer rings.
    is_hungry: bool = False
    # 410s that are not yet written down, and a breaker that has opened since the turn began: no more for now.
    gone: int = 0
    must_stop: bool = False
    seen: list[Outcome] = field(default_factory=list)

    def answered(self, outcome: Outcome) -> None:
        self.under_way -= 1
        self.is_quick = outcome.duration_ms < FULL_SECONDS * 1000
        self.gone += outcome.gone
        self.seen.append(outcome)

    def settled(self, outcome: Outcome) -> None:
        self.unsettled -= 1
        self.gone -= outcome.gone

    @property
    def is_closed(self) -> bool:
        return self.gone > 0 or self.must_stop


class Turn:
    def __init__(self, target: Target, hand: Hand, *, now: float) -> None:
        self.target, self._hand = target, hand
        # Tries that other processes have under way: the turn was theirs a moment ago. And what is not acknowledged.
        self.elsewhere = 0
        self.slots = min(target.slots, target.max_in_flight)
        burst = target.rate_burst or 1.0
        tokens = burst if target.rate_tokens is None else min(burst, target.rate_tokens)
        self.rate = Rate(target.rate_per_second, burst, tokens, now)

    def room(self, now: float) -> int:
        """How many may be claimed now."""
        self._learn()
        free = self._free
        unsettled = MOST_UNSETTLED - self._hand.unsettled
        return max(0, int(min(free, unsettled, self.rate.allowed(now), MOST_CLAIMED)))

    @property
    def _free(self) -> int:
        return self.slots - self.elsewhere - self._hand.under_way

    @property
    def is_full(self) -> bool:
        return self._free <= 0

    @property
    def worth(self) -> int:
        """Many small claims cost more than one: where answers are quick it waits a moment for half of the slots."""
        return max(1, min(self.slots, MOST_CLAIMED) // 2) if self._hand.is_quick else 1

    @property
    def patience_seconds(self) -> float:
        """For how long it waits without a free slot."""
        return FULL_SECONDS if self._hand.is_quick or self.elsewhere else 0.0

    @property
    def is_spent(self) -> bool:
        return self.target.rate_per_second is not None and self.rate.tokens < 1

    @property
    def has_news(self) -> bool:
        """Whether there is something to write down for the next turn."""
        return self.slots != self.target.slots or self.target.rate_per_second is not None

    def _learn(self) -> None:
        """From what was seen since: the tries of the turns before are among it."""
        seen, self._hand.seen = self._hand.seen, []
        self.slots = min(next_slots(self.slots, seen, most=self.target.max_in_flight), self.target.max_in_flight)
