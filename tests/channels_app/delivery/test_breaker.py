"""When a breaker opens and closes."""

import pytest

from channels_app.delivery.breaker import Breaker

FAIL, OK = False, True


@pytest.mark.parametrize(
    ("tries", "is_open"),
    [
        ([(job, FAIL) for job in range(50)], True),
        ([(job, FAIL) for job in range(49)], False),
        ([(job % 10, FAIL) for job in range(50)], True),
        ([(job % 9, FAIL) for job in range(500)], False),
        ([*((job, FAIL) for job in range(49)), (99, OK), (100, FAIL)], False),
        ([*((job, FAIL) for job in range(60)), (99, OK)], False),
    ],
)
def test_it_opens_at_fifty_failures_in_a_row_over_ten_jobs(tries: list[tuple[int, bool]], is_open: bool) -> None:
    assert Breaker().after(tries).is_open is is_open


def test_a_failure_while_open_keeps_it_open() -> None:
    assert Breaker(50, tuple(range(10)), is_open=True).after([(77, FAIL)]).is_open


def test_a_success_forgets_everything() -> None:
    assert Breaker(70, tuple(range(10)), is_open=True).after([(77, OK)]) == Breaker()


def test_what_was_counted_before_counts() -> None:
    before = Breaker().after((job, FAIL) for job in range(30))

    assert before.after((job, FAIL) for job in range(20)).is_open
