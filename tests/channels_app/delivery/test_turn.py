"""How many jobs a turn may claim."""

from typing import Any

import pytest

from channels_app.delivery.retry import Outcome
from channels_app.delivery.target import Target
from channels_app.delivery.turn import FULL_SECONDS, MOST_CLAIMED, MOST_UNSETTLED, Hand, Turn
from channels_app.reasons import Reason

QUICK = Outcome(reason=None, duration_ms=20)
TIMED_OUT = Outcome(reason=Reason.TIMEOUT)


def target(**changed: Any) -> Target:
    values = {
        "consumer_id": 1,
        "consumer": "k",
        "channel": "c",
        "callback_url": "http://127.0.0.1/",
        "sealed_token": "",
        "sealed_secret": "",
        "sealed_previous_secret": None,
        "timeout_seconds": 30.0,
        "slots": 10,
        "max_in_flight": 100,
        "retries": 3,
        "initial_seconds": 1.0,
        "factor": 2.0,
        "ceiling_seconds": 30.0,
        "jitter": "none",
        "non_retriable": [],
        "circuit_breaker": True,
        "breaker": "closed",
        "streak": 0,
        "rate_per_second": None,
        "rate_burst": None,
        "rate_tokens": None,
        "in_flight": 0,
    }
    return Target(**{**values, **changed})


@pytest.mark.parametrize(
    ("of", "hand", "elsewhere", "room"),
    [
        (target(), Hand(), 0, 10),
        (target(), Hand(under_way=4), 0, 6),
        (target(), Hand(under_way=4), 8, 0),
        (target(max_in_flight=3), Hand(), 0, 3),
        (target(slots=5_000, max_in_flight=5_000), Hand(), 0, MOST_CLAIMED),
        (target(), Hand(unsettled=MOST_UNSETTLED - 2), 0, 2),
        (target(), Hand(seen=[QUICK] * 5), 0, 15),
        (target(), Hand(seen=[TIMED_OUT]), 0, 5),
        (target(rate_per_second=2.0, rate_burst=4.0), Hand(), 0, 4),
        (target(rate_per_second=2.0, rate_burst=4.0, rate_tokens=1.5), Hand(), 0, 1),
        (target(rate_per_second=2.0, rate_burst=4.0, rate_tokens=100.0), Hand(), 0, 4),
    ],
)
def test_room_is_what_slots_rate_and_settling_leave(of: Target, hand: Hand, elsewhere: int, room: int) -> None:
    turn = Turn(of, hand, now=0.0)
    turn.elsewhere = elsewhere
    assert turn.room(0.0) == room


def test_a_spent_rate_says_when_the_next_may_go() -> None:
    turn = Turn(target(rate_per_second=2.0, rate_burst=2.0), Hand(), now=0.0)
    turn.rate.spend(turn.room(0.0))

    assert (turn.room(0.0), turn.is_spent, turn.rate.wait_seconds) == (0, True, 0.5)
    assert turn.room(0.5) == 1


def test_only_what_changed_is_written_down() -> None:
    quiet, learned = (
        Turn(target(), Hand(), now=0.0),
        Turn(target(), Hand(seen=[QUICK]), now=0.0),
    )
    quiet.room(0.0)
    learned.room(0.0)

    assert (quiet.has_news, learned.has_news) == (False, True)


def test_only_a_quick_consumer_is_waited_for() -> None:
    """The others take what room there is at once, and give their thread back when there is none."""
    quick, slow = Hand(under_way=1), Hand(under_way=1)
    quick.answered(QUICK)
    slow.answered(Outcome(reason=None, duration_ms=400))
    turns = [Turn(target(), hand, now=0.0) for hand in (quick, slow, Hand())]

    assert [(turn.worth, turn.patience_seconds) for turn in turns] == [(5, FULL_SECONDS), (1, 0.0), (1, 0.0)]
