"""The model behind docs/sizing.md, and the page itself."""

import pytest

from benchmarks import sizing
from benchmarks.scenarios import cost
from benchmarks.sizing import BUSY, Traffic, needs

COSTS = {
    "publish": {"web": 0.3, "postgres": 0.2, "worker-dispatch": 0.1, "redis": 0.01, "WAL": 1_000, "tables": 500},
    "publish by 100": {"web": 0.03, "postgres": 0.05, "WAL": 800, "tables": 500},
    "delivery": {"worker-delivery": 0.6, "postgres": 0.4, "WAL": 2_000, "tables": 300},
    "schedule": {"web": 0.4, "WAL": 3_000, "tables": 900},
    "lease and ack": {"web": 0.5, "WAL": 1_500, "tables": 300},
}


@pytest.mark.parametrize(
    ("traffic", "web", "delivery", "wal_mb"),
    [
        (Traffic(1), 1, 1, 0.003),
        (Traffic(1_000), 1, 1, 3.0),
        (Traffic(1_000, deliveries=5), 1, 5, 11.0),
        (Traffic(10_000), 5, 10, 30.0),
        (Traffic(10_000, publish="publish by 100"), 1, 10, 28.0),
        (Traffic(10_000, deliveries=0, leases=1), 14, 1, 25.0),
        (Traffic(1_000, scheduled=0.5, deliveries=0), 1, 1, 2.0),
    ],
)
def test_a_rate_needs_its_costs_times_itself(traffic: Traffic, web: int, delivery: int, wal_mb: float) -> None:
    needed = needs(COSTS, traffic)
    assert (needed.processes["web"], needed.processes["worker-delivery"]) == (web, delivery)
    assert needed.wal_mb_per_second == pytest.approx(wal_mb)


def test_a_core_is_never_planned_to_be_busier_than_it_may_be() -> None:
    assert needs(COSTS, Traffic(1_000)).cores["postgres"] == pytest.approx(0.6 / BUSY)


def test_history_is_what_is_kept_in_a_day() -> None:
    assert needs(COSTS, Traffic(1_000, deliveries=2)).stored_gb_per_day == pytest.approx(1_000 * 1_100 * 86_400 / 1e9)


def test_what_one_postgres_cannot_do_takes_several_brokers() -> None:
    assert needs(COSTS, Traffic(1_000)).brokers == 1
    assert needs(COSTS, Traffic(100_000)).brokers == 7


def test_the_page_shows_what_was_measured() -> None:
    """Else: ./broker bench cost, then python -m benchmarks.sizing."""
    page = sizing.PAGE.read_text()
    assert sizing.fill(page, sizing.read()) == page


def test_every_act_was_measured_and_is_on_the_page() -> None:
    costs = sizing.costs_in(sizing.read())
    assert list(costs) == list(cost.ACTS)
    assert all(one.keys() >= {*sizing.SERVICES, sizing.WAL, sizing.TABLES} for one in costs.values())
    assert sizing.read()["quick"] is False
