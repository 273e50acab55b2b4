"""How fast a consumer may be sent to: a token bucket that its state row keeps between turns."""

from dataclasses import dataclass


@dataclass
class Rate:
    """`per_second` None: no limit. Times are those of one clock, in seconds."""

    per_second: float | None
    burst: float
    tokens: float
    at: float

    def allowed(self, now: float) -> float:
        """How many may go now."""
        if self.per_second is None:
            return float("inf")
        self.tokens = min(self.burst, self.tokens + (now - self.at) * self.per_second)
        self.at = now
        return self.tokens

    def spend(self, count: int) -> None:
        self.tokens -= count

    @property
    def wait_seconds(self) -> float:
        """Until the next may go."""
        return max(0.0, (1.0 - self.tokens) / self.per_second) if self.per_second else 0.0
