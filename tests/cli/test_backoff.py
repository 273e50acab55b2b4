import pytest

from broker_project.cli.backoff import next_wait


@pytest.mark.parametrize(
    ("wait", "lived", "expected"),
    [(0.0, 0.1, 0.2), (0.2, 0.1, 0.4), (3.2, 0.1, 5.0), (5.0, 9.9, 5.0), (5.0, 10.0, 0.2)],
)
def test_the_wait_doubles_to_a_ceiling_and_starts_over_after_a_healthy_life(
    wait: float, lived: float, expected: float
) -> None:
    assert next_wait(wait, lived) == pytest.approx(expected)
