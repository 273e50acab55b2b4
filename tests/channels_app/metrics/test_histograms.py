"""Times become fields that can be added up, and fields become what Prometheus wants."""

import pytest

from channels_app.metrics.histograms import Histogram

WAIT = Histogram("wait", (0.1, 1.0))


@pytest.mark.parametrize(
    ("seconds", "mark"), [(0.0, "0.1"), (0.1, "0.1"), (0.11, "1.0"), (1.0, "1.0"), (1.01, "+Inf"), (9e9, "+Inf")]
)
def test_a_time_falls_into_the_first_bucket_that_holds_it(seconds: float, mark: str) -> None:
    assert dict(WAIT.observe("ok", [seconds])) == {f"wait|ok|{mark}": 1, "wait|ok|sum": seconds}


def test_buckets_are_read_added_up_with_every_bound_there() -> None:
    fields = {**dict(WAIT.observe("ok", [0.05, 0.05, 5.0])), **dict(WAIT.observe("failed", [0.5])), "other|ok|0.1": 9.0}

    assert list(WAIT.read(fields)) == [
        ("failed", [("0.1", 0.0), ("1.0", 1.0), ("+Inf", 1.0)], 0.5),
        ("ok", [("0.1", 2.0), ("1.0", 2.0), ("+Inf", 3.0)], 5.1),
    ]
