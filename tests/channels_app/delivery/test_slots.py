"""How many tries a consumer may have under way."""

import pytest

from channels_app.delivery.retry import Outcome
from channels_app.delivery.slots import next_slots
from channels_app.reasons import Reason

QUICK = Outcome(reason=None, duration_ms=20)
SLOW = Outcome(reason=None, duration_ms=5_000)
TIMED_OUT = Outcome(reason=Reason.TIMEOUT)
REFUSED = Outcome(reason=Reason.REFUSED)


@pytest.mark.parametrize(
    ("slots", "outcomes", "after"),
    [
        (10, [QUICK, QUICK], 12),
        (10, [SLOW], 10),
        (99, [QUICK] * 5, 100),
        (10, [TIMED_OUT], 5),
        (10, [TIMED_OUT, TIMED_OUT, QUICK], 5),
        (1, [TIMED_OUT], 1),
        (10, [REFUSED], 10),
        (10, [], 10),
    ],
)
def test_slots_grow_by_quick_answers_and_halve_by_a_timeout(slots: int, outcomes: list[Outcome], after: int) -> None:
    assert next_slots(slots, outcomes, most=100) == after
