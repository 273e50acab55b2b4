"""How much a chaos test does: little in `./broker test`, much in `./broker test --chaos`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    # Messages a second, all publishers together.
    per_second: float
    # Messages that must come and go before a blow, and again after it.
    between: int
    blows: int
    redis_away_seconds: float
    redis_frozen_seconds: float
    # Whether the lease of a job that is killed again and again is waited for, or the test moves its clock.
    waits_for_leases: bool
    # Messages for later, due at one instant; a few are released slowly, so that a blow falls in their midst.
    burst: int
    release_per_second: float | None
    # Jobs for consumers that ask.
    pulled: int
    # Dead letters that are queued again, and how fast, so that a blow falls in their midst.
    letters: int
    letters_per_second: float


SHORT = Scale(
    100,
    60,
    1,
    redis_away_seconds=3,
    redis_frozen_seconds=5,
    waits_for_leases=False,
    burst=300,
    release_per_second=150,
    pulled=1_000,
    letters=300,
    letters_per_second=60,
)
LONG = Scale(
    500,
    2_000,
    3,
    redis_away_seconds=10,
    redis_frozen_seconds=30,
    waits_for_leases=True,
    burst=10_000,
    release_per_second=None,
    pulled=20_000,
    letters=10_000,
    letters_per_second=1_000,
)
