"""How the receiver answers: pure, by the manner in the path, how many came before, the time, and what is asked."""

import json
from dataclasses import dataclass
from random import Random
from typing import Any

from broker_project.demo.payloads import LARGE_AMOUNT

# The flaky one fails so often; and now and then it is out of order, for long enough to open a breaker.
FLAKY_SHARE = 0.2
OUTAGE_EVERY_SECONDS, OUTAGE_AT_SECONDS, OUTAGE_SECONDS = 240, 30, 15
SLOW_SECONDS = (1.0, 3.0)
# The retiring one is gone for good after so many.
LIFE = 150


@dataclass(frozen=True)
class Answer:
    status: int = 200
    wait_seconds: float = 0.0
    text: str = "thank you"

    @property
    def is_failure(self) -> bool:
        return self.status >= 400


def answer(manner: str, count: int, elapsed_seconds: float, body: bytes, *, seed: int) -> Answer:
    """To the count-th request (from 1) of this manner, so long after the receiver began."""
    chance = Random(f"{seed}/{manner}/{count}")
    if manner == "slow":
        return Answer(wait_seconds=chance.uniform(*SLOW_SECONDS))
    if manner == "flaky":
        return _flaky(elapsed_seconds, chance)
    if manner == "retiring":
        return Answer(410, text="We do not read these any more.") if count > LIFE else Answer()
    if manner in ("choosy", "picky"):
        return _by_content(manner, body)
    return Answer()


def _flaky(elapsed_seconds: float, chance: Random) -> Answer:
    if 0 <= elapsed_seconds % OUTAGE_EVERY_SECONDS - OUTAGE_AT_SECONDS < OUTAGE_SECONDS:
        return Answer(502, text="The warehouse is closed for a moment.")
    return Answer(503, text="Too busy, please come again.") if chance.random() < FLAKY_SHARE else Answer()


def _by_content(manner: str, body: bytes) -> Answer:
    told = _document(body)
    if manner == "picky" and not told.get("email"):
        return Answer(422, text="email: must not be empty")
    if manner == "choosy" and told.get("amount", 0) >= LARGE_AMOUNT:
        return Answer(500, text="OverflowError: amount does not fit")
    return Answer()


def _document(body: bytes) -> dict[str, Any]:
    """Staff may send anything by hand."""
    try:
        told = json.loads(body)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
