"""Percentiles from counts by size."""

import pytest
from django.db import connection

from watch_app.histogram import EDGES, added, percentiles


def place_of(seconds: float) -> int:
    return sum(edge <= seconds for edge in EDGES)


def counts_of(*times: float) -> list[int]:
    counts: list[int] = []
    for seconds in times:
        counts = added(counts, [0] * place_of(seconds) + [1])
    return counts


LAST = EDGES[-1]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([], (None, None, None)),
        ([0, 0], (None, None, None)),
        ([100], (EDGES[0] * 0.5, EDGES[0] * 0.95, EDGES[0] * 0.99)),
        ([0, 1], tuple(EDGES[0] * (EDGES[1] / EDGES[0]) ** share for share in (0.5, 0.95, 0.99))),
        ([0, 50, 0, 50], (EDGES[1], EDGES[2] * (EDGES[3] / EDGES[2]) ** 0.9, EDGES[2] * (EDGES[3] / EDGES[2]) ** 0.98)),
        ([0] * 18 + [95, 4, 1], (EDGES[17] * (EDGES[18] / EDGES[17]) ** (50 / 95), EDGES[18], EDGES[19])),
        ([0] * 49 + [7], (LAST, LAST, LAST)),
        ([0, 0, 1, 0, 0], tuple(EDGES[1] * (EDGES[2] / EDGES[1]) ** share for share in (0.5, 0.95, 0.99))),
    ],
)
def test_percentiles_lie_in_their_places(counts: list[int], expected: tuple[float | None, ...]) -> None:
    found = percentiles(counts)

    wanted = [None if seconds is None else pytest.approx(seconds, rel=1e-3) for seconds in expected]
    assert [found.p50, found.p95, found.p99] == wanted


def test_percentiles_of_many_times_are_near_the_true_ones() -> None:
    times = [0.002 * 1.01**number for number in range(1, 1001)]

    found = percentiles(counts_of(*times))

    for share, seconds in ((0.5, found.p50), (0.95, found.p95), (0.99, found.p99)):
        assert seconds == pytest.approx(times[int(share * 1000) - 1], rel=0.1)


def test_edges_are_whole_powers_of_ten_from_a_millisecond_to_more_than_a_day() -> None:
    assert [EDGES[number] for number in (0, 6, 12, 18, 24, 48)] == [0.001, 0.01, 0.1, 1.0, 10.0, 100_000.0]


@pytest.mark.django_db
def test_the_triggers_have_the_same_edges() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT prosrc FROM pg_proc WHERE proname IN ('note_job_flow', 'note_scheduled_flow')")
        sources = [source for (source,) in cursor.fetchall()]

    written = f"ARRAY[{', '.join(f'{edge:.6f}' for edge in EDGES)}]"
    assert [written in source for source in sources] == [True, True]
