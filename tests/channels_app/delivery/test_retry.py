"""What becomes of a job after a try."""

import pytest

from channels_app.delivery.retry import PROBE_WAIT_SECONDS, Outcome, Policy, Verdict, decide, decide_probe
from channels_app.reasons import Reason


def policy(**changed: object) -> Policy:
    values = {
        "retries": 3,
        "initial_seconds": 1.0,
        "factor": 2.0,
        "ceiling_seconds": 30.0,
        "jitter": "none",
        "non_retriable": frozenset[str](),
    }
    return Policy(**{**values, **changed})  # type: ignore[arg-type]


FAILED = Outcome(reason=Reason.HTTP_5XX, status_code=503)
GONE = Outcome(reason=Reason.GONE, status_code=410, gone=True)
EXPIRED = Outcome(reason=Reason.EXPIRED)


@pytest.mark.parametrize(("failures", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (6, 30), (5_000, 30)])
def test_the_wait_doubles_up_to_its_ceiling(failures: int, seconds: float) -> None:
    assert policy().wait_seconds(failures) == seconds


@pytest.mark.parametrize(
    ("jitter", "chance", "seconds"),
    [("none", 0.0, 4), ("full", 0.0, 0), ("full", 0.5, 2), ("equal", 0.0, 2), ("equal", 1.0, 4)],
)
def test_jitter_spreads_the_wait(jitter: str, chance: float, seconds: float) -> None:
    assert policy(jitter=jitter).wait_seconds(3, chance) == seconds


@pytest.mark.parametrize(
    ("outcome", "failures", "verdict"),
    [
        (Outcome(reason=None, status_code=204), 0, Verdict(delivered=True)),
        (FAILED, 0, Verdict(wait_seconds=1, failures=1)),
        (FAILED, 2, Verdict(wait_seconds=4, failures=1)),
        (FAILED, 3, Verdict(dead=True, failures=1)),
        (GONE, 0, Verdict(dead=True, failures=1)),
        (EXPIRED, 0, Verdict(dead=True)),
        (Outcome(reason=None, released=True), 3, Verdict()),
        (Outcome(reason=Reason.HTTP_5XX, retry_after_seconds=20), 0, Verdict(wait_seconds=20, failures=1)),
    ],
)
def test_a_verdict(outcome: Outcome, failures: int, verdict: Verdict) -> None:
    assert decide(outcome, failures=failures, policy=policy()) == verdict


@pytest.mark.parametrize(
    ("outcome", "failures", "verdict"),
    [
        (Outcome(reason=None, status_code=204), 0, Verdict(delivered=True)),
        (FAILED, 0, Verdict(wait_seconds=PROBE_WAIT_SECONDS)),
        (FAILED, 3, Verdict(wait_seconds=PROBE_WAIT_SECONDS)),
        (GONE, 0, Verdict(dead=True, failures=1)),
        (EXPIRED, 0, Verdict(dead=True)),
        (Outcome(reason=None, released=True), 3, Verdict()),
    ],
)
def test_a_probe_costs_its_job_nothing(outcome: Outcome, failures: int, verdict: Verdict) -> None:
    assert decide_probe(outcome, failures=failures, policy=policy()) == verdict


@pytest.mark.parametrize("listed", ["503", "http_5xx"])
def test_an_answer_that_the_policy_lists_is_final(listed: str) -> None:
    assert decide(FAILED, failures=0, policy=policy(non_retriable=frozenset({listed}))).dead


def test_no_retries_means_one_try() -> None:
    assert decide(FAILED, failures=0, policy=policy(retries=0)).dead
