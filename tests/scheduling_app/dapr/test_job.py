"""What a job comes to: once, or again and again."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from scheduling_app.dapr.job import JobIn, Once, Recurring, job_id_of, planned
from scheduling_app.dapr.job_errors import JobError, JobNameEmpty, JobNameInvalid, JobNeverRuns, ScheduleEmpty

NOW = datetime(2026, 5, 1, 10, 0, 0, 500_000, tzinfo=UTC)
WHOLE = NOW.replace(microsecond=0)


def seconds(plan: Once | Recurring) -> tuple[float, float, float | None, int | None]:
    """Start, first run and end of a schedule in seconds from this second, and how many runs."""
    assert isinstance(plan, Recurring)
    end = None if plan.end_at is None else (plan.end_at - WHOLE).total_seconds()
    return (plan.start_at - WHOLE).total_seconds(), (plan.first_at - WHOLE).total_seconds(), end, plan.max_ticks


@pytest.mark.parametrize(
    ("job", "due", "ttl"),
    [
        ({"due_time": "30s"}, 30, 0),
        ({"due_time": "PT0.25S"}, 0.25, 0),
        ({"due_time": "2026-05-01T12:00:00+01:00"}, 3599.5, 0),
        # Past: it runs now.
        ({"due_time": "2020-01-01T00:00:00Z"}, 0, 0),
        ({"due_time": "30s", "repeats": 1}, 30, 0),
        # From its due time, or a point in time.
        ({"due_time": "30s", "ttl": "10s"}, 30, 10),
        ({"due_time": "30s", "ttl": "2026-05-01T10:01:00Z"}, 30, 30),
        ({"due_time": "30s", "ttl": "P999Y"}, 30, 2**31 - 1),
    ],
)
def test_a_due_time_alone_runs_once(job: dict[str, Any], due: float, ttl: int) -> None:
    assert planned(JobIn(**job), NOW) == Once(NOW + timedelta(seconds=due), ttl)


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        # Without a due time the first run is when the period has passed once.
        ({"schedule": "@every 30s"}, (0, 30, None, None)),
        ({"schedule": "R5/PT30S"}, (0, 30, None, 5)),
        ({"schedule": "R5/PT30S", "repeats": 7}, (0, 30, None, 7)),
        ({"schedule": "@hourly"}, (0, 3600, None, None)),
        # The due time is a run, and where the period begins; ticks are whole seconds.
        ({"schedule": "@every 30s", "due_time": "10s"}, (11, 11, None, None)),
        ({"schedule": "@hourly", "due_time": "10.5s"}, (11, 11, None, None)),
        ({"schedule": "@daily", "due_time": "10s", "ttl": "1h"}, (11, 11, 3610, None)),
        ({"schedule": "@every 30s", "ttl": "10m", "repeats": 3}, (0, 30, 600, 3)),
        ({"schedule": "@every 30s", "due_time": "2020-01-01T00:00:00Z"}, (1, 1, None, None)),
    ],
)
def test_a_schedule_runs_again_and_again(job: dict[str, Any], expected: tuple[Any, ...]) -> None:
    assert seconds(planned(JobIn(**job), NOW)) == expected


@pytest.mark.parametrize(
    ("job", "refusal"),
    [
        ({}, ScheduleEmpty),
        ({"repeats": 3, "ttl": "1h"}, ScheduleEmpty),
        ({"due_time": "soon"}, JobError),
        ({"schedule": "now and then"}, JobError),
        ({"due_time": "30s", "ttl": "never"}, JobError),
        ({"due_time": "30s", "repeats": 2}, JobError),
        ({"due_time": "30s", "repeats": 0}, JobError),
        ({"schedule": "@daily", "repeats": 2**32}, JobError),
        ({"schedule": "R0/PT30S"}, JobError),
        ({"due_time": "30s", "ttl": "2026-05-01T10:00:10Z"}, JobError),
        ({"schedule": "@daily", "ttl": "2020-01-01T00:00:00Z"}, JobError),
        ({"schedule": "@daily", "ttl": "1h"}, JobNeverRuns),
        ({"schedule": "0 0 0 30 2 *"}, JobNeverRuns),
        ({"schedule": "@daily", "due_time": "9500-01-01T00:00:00Z"}, JobError),
        ({"schedule": "@daily", "ttl": "9500-01-01T00:00:00Z"}, JobError),
        ({"schedule": "@daily", "due_time": "9999-12-31T23:59:59.5Z"}, JobError),
        ({"schedule": "@daily", "due_time": "9999-12-31T23:59:59Z"}, JobError),
    ],
)
def test_what_cannot_run_is_refused(job: dict[str, Any], refusal: type[JobError]) -> None:
    with pytest.raises(refusal):
        planned(JobIn(**job), NOW)


@pytest.mark.parametrize(
    ("name", "written"),
    [("prod-db-backup", "prod-db-backup"), ("R2-D2", "R2-D2"), ("a/b c", "a~2Fb~20c"), ("ü~", "~C3~BC~7E")],
)
def test_a_name_is_written_as_an_id(name: str, written: str) -> None:
    assert job_id_of(name) == written


@pytest.mark.parametrize("name", ["", " ", "a|b", "a\x00b", "a\r\nb", "a\x7f"])
def test_an_empty_name_is_refused(name: str) -> None:
    with pytest.raises(JobNameEmpty):
        job_id_of(name)


@pytest.mark.parametrize("name", ["x" * 201, "ü" * 34, "x" * 1000])
def test_a_name_that_is_too_long_is_refused(name: str) -> None:
    assert job_id_of(name[: len(name) // 6])
    with pytest.raises(JobNameInvalid):
        job_id_of(name)


def test_what_is_remembered_of_a_job_comes_back() -> None:
    job = JobIn(
        schedule="@daily",
        due_time="10s",
        repeats=3,
        ttl="P9D",
        data=b"\x00\xff",
        content_type="x/y",
        type_url="type.googleapis.com/x",
        failure_policy={"drop": {}},
    )
    assert JobIn.of(job.remembered(), data=job.data, content_type=job.content_type) == job
    assert JobIn(due_time="1s").remembered() == {"dueTime": "1s"}
