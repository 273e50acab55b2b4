"""Acks folded in order: tables, and every interleaving that chance finds."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels_app.delivery.retry import Policy
from channels_app.pull.fold import Ack, AckStatus, Held, Move, Result, fold, move
from channels_app.reasons import Reason

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
POLICY = Policy(3, 1.0, 2.0, 30.0, "none", frozenset())
RUNNING, COMPLETE, FAILED = AckStatus.RUNNING, AckStatus.COMPLETE, AckStatus.FAILED
REFUSED = AckStatus.REFUSED
APPLIED, DUPLICATE, STALE = Result.APPLIED, Result.DUPLICATE, Result.STALE
QUEUED, INFLIGHT, DELIVERED, DEAD = 1001, 1002, 1003, 1004


def held(**values: Any) -> Held:
    defaults: dict[str, Any] = {
        "job_id": 1,
        "consumer_id": 1,
        "status": INFLIGHT,
        "attempt": 2,
        "failures": 0,
        "is_started": False,
        "device_id": None,
        "reason": None,
        "now": NOW,
        "expires_at": NOW + timedelta(days=1),
    }
    return Held(**{**defaults, **values})


def said(*words: AckStatus | tuple[AckStatus, int]) -> list[Ack]:
    """A word alone is of the current attempt."""
    return [Ack(1, word[0], attempt=word[1]) if isinstance(word, tuple) else Ack(1, word) for word in words]


@pytest.mark.parametrize(
    ("job", "words", "results"),
    [
        ({}, [RUNNING, COMPLETE], [APPLIED, APPLIED]),
        ({}, [COMPLETE], [APPLIED]),
        ({}, [COMPLETE, RUNNING], [APPLIED, STALE]),
        ({}, [RUNNING, RUNNING], [APPLIED, DUPLICATE]),
        ({"is_started": True}, [RUNNING, FAILED], [DUPLICATE, APPLIED]),
        ({}, [COMPLETE, COMPLETE, FAILED], [APPLIED, DUPLICATE, STALE]),
        ({}, [FAILED, FAILED, COMPLETE], [APPLIED, DUPLICATE, STALE]),
        ({}, [(COMPLETE, 2)], [APPLIED]),
        ({}, [(COMPLETE, 1), (COMPLETE, 3), (RUNNING, 1)], [STALE, STALE, STALE]),
        ({}, [(COMPLETE, 1), COMPLETE], [STALE, APPLIED]),
        ({"status": DELIVERED}, [COMPLETE, FAILED, RUNNING], [DUPLICATE, STALE, STALE]),
        ({"status": DELIVERED}, [(COMPLETE, 1), (COMPLETE, 2)], [STALE, DUPLICATE]),
        ({"status": QUEUED}, [COMPLETE, FAILED, RUNNING], [STALE, STALE, STALE]),
        ({"status": DEAD}, [COMPLETE, FAILED], [STALE, STALE]),
    ],
)
def test_an_attempt_goes_forward_and_ends_once(job: dict[str, Any], words: list[Any], results: list[Result]) -> None:
    assert fold(held(**job), said(*words), {}).results == results


@pytest.mark.parametrize(
    ("job", "words", "results"),
    [
        ({"status": QUEUED}, [FAILED, COMPLETE], [DUPLICATE, STALE]),
        ({"status": DEAD}, [(FAILED, 2)], [DUPLICATE]),
        ({"status": DEAD}, [REFUSED, (REFUSED, 2), (REFUSED, 1)], [DUPLICATE, DUPLICATE, STALE]),
        # To be tried again is not to be tried never again.
        ({"status": QUEUED}, [(REFUSED, 2)], [STALE]),
        # Taken again meanwhile: the one before still remembers how it ended.
        ({"attempt": 3}, [(FAILED, 2), (COMPLETE, 2), (COMPLETE, 3)], [DUPLICATE, STALE, APPLIED]),
    ],
)
def test_the_history_tells_a_duplicate_from_what_is_stale(
    job: dict[str, Any], words: list[Any], results: list[Result]
) -> None:
    assert fold(held(**job), said(*words), {2: FAILED}).results == results


def moved(job: Held, *acks: Ack) -> Move | None:
    return move(job, fold(job, acks, {}), POLICY)


def test_nothing_is_written_for_what_changes_nothing() -> None:
    assert moved(held(status=DELIVERED), Ack(1, COMPLETE)) is None


def test_a_failure_waits_as_the_policy_says_and_the_last_is_dead() -> None:
    verdicts = [moved(held(failures=failures), Ack(1, FAILED)) for failures in range(4)]

    waits = [(one.status, one.wait_seconds, one.failures) for one in verdicts if one]
    assert waits == [(QUEUED, 1.0, 1), (QUEUED, 2.0, 1), (QUEUED, 4.0, 1), (DEAD, 0.0, 1)]
    assert {one.reason for one in verdicts if one} == {Reason.NACKED}


@pytest.mark.parametrize(
    ("retry_in", "wait"),
    [
        (timedelta(minutes=5), 300.0),
        (timedelta(milliseconds=10), 0.01),
        # Past, or by a clock that is behind: the policy's.
        (timedelta(seconds=-5), 1.0),
        # No longer than the job may live.
        (timedelta(days=400), 86_400.0),
    ],
)
def test_a_failure_may_name_the_time_of_its_next_try(retry_in: timedelta, wait: float) -> None:
    found = moved(held(), Ack(1, FAILED, retry_at=NOW + retry_in))

    assert found is not None
    assert (found.status, found.wait_seconds) == (QUEUED, wait)


def test_a_job_out_of_attempts_is_dead_whatever_time_it_names() -> None:
    found = moved(held(failures=3), Ack(1, FAILED, retry_at=NOW + timedelta(minutes=5)))

    assert found is not None
    assert (found.status, found.reason) == (DEAD, Reason.NACKED)


def test_a_release_is_no_try() -> None:
    found = moved(held(), Ack(1, AckStatus.RELEASED))

    assert found is not None
    assert (found.status, found.is_try, found.failures, found.is_ready) == (QUEUED, False, 0, True)


ACKS = st.builds(
    Ack,
    job_id=st.just(1),
    status=st.sampled_from((RUNNING, COMPLETE, FAILED)),
    attempt=st.none() | st.integers(1, 4),
    retry_at=st.none(),
)


@given(st.lists(st.lists(ACKS, max_size=6), max_size=12))
def test_every_interleaving_has_one_ending_per_attempt(requests: list[list[Ack]]) -> None:
    """Requests one after another; after each a job that is queued again is taken again."""
    job, endings = held(attempt=1), dict[int, AckStatus]()
    for acks in requests:
        folded = fold(job, acks, endings)
        applied = [ack for ack, result in zip(acks, folded.results, strict=True) if result is APPLIED]
        assert all(ack.attempt in (None, job.attempt) for ack in applied)
        ends = [ack for ack in applied if ack.status is not RUNNING]
        assert len(ends) <= 1
        assert not ends or job.attempt not in endings
        for ack, result in zip(acks, folded.results, strict=True):
            if result is DUPLICATE and ack.status is not RUNNING:
                named = job.attempt if ack.attempt is None else ack.attempt
                ended = ends[0].status if ends and named == job.attempt else endings[named]
                assert ack.status is ended
        change = move(job, folded, POLICY)
        if change is None:
            continue
        if change.ended:
            endings[job.attempt] = change.ended.status
        job = job._replace(
            status=change.status,
            failures=job.failures + change.failures,
            is_started=job.is_started or bool(change.began),
        )
        if job.status == QUEUED:
            job = job._replace(status=INFLIGHT, attempt=job.attempt + 1, is_started=False)
