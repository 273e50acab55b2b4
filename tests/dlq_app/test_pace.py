"""How fast an operation may go."""

from datetime import UTC, datetime, timedelta

import pytest

from dlq_app.pace import Pace

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


@pytest.mark.parametrize(
    ("per_second", "used", "allowed", "rest"),
    [
        # Whoever begins takes a share of a fifth of a second at once.
        (100, None, 20, 0.0),
        # At least one.
        (0.5, None, 1, 0.0),
        (100, 0.0, 0, 0.2),
        (100, -0.1, 10, 0.1),
        (100, 0.3, 0, 0.5),
        (0.5, -1.0, 0, 1.0),
        (0.5, -2.0, 1, 0.0),
        # An hour in which nothing was taken is not made up for.
        (100, -3600.0, 40, 0.0),
        (0.5, -3600.0, 2, 0.0),
    ],
)
def test_the_worth_of_the_time_since_the_last_may_be_taken(
    per_second: float, used: float | None, allowed: int, rest: float
) -> None:
    pace = Pace.at(NOON, per_second, NOON + seconds(used) if used is not None else None)

    assert pace.allowed(NOON) == allowed
    assert pace.rest_seconds(NOON) == pytest.approx(rest)


def test_what_is_taken_uses_up_its_time() -> None:
    pace = Pace.at(NOON, 100, NOON).after(30)

    assert pace.used_until == NOON + seconds(0.3)
    assert pace.rest_seconds(NOON) == pytest.approx(0.5)


@pytest.mark.parametrize("per_second", [0.7, 3, 100, 4321.5])
def test_over_a_while_it_comes_to_the_rate(per_second: float) -> None:
    """Gone on with as soon as it has rested, or much more often."""
    now, used_until, taken = NOON, None, 0
    for tick in range(3000):
        pace = Pace.at(now, per_second, used_until)
        allowed = pace.allowed(now)
        taken += allowed
        used_until = pace.after(allowed).used_until
        now += seconds(0.01 if tick % 3 else 0.03)

    assert taken == pytest.approx(per_second * (now - NOON).total_seconds(), abs=per_second * 0.25 + 2)
