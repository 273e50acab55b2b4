"""A job as JSON, in and out."""

import json

import pytest

from scheduling_app.api.dapr.job_document import read_job, show_job
from scheduling_app.dapr.job import JobIn
from scheduling_app.dapr.job_errors import JobNameInBody, JobUnreadable
from scheduling_app.grpc import jobs as grpc_jobs


@pytest.mark.parametrize(
    ("body", "job"),
    [
        ("{}", JobIn()),
        ('{"data": "some data", "dueTime": "30s"}', JobIn(data=b'"some data"', due_time="30s")),
        (
            ' {"schedule": "@every 1m", "repeats": 5, "ttl": "1h", "overwrite": true}\n',
            JobIn(schedule="@every 1m", repeats=5, ttl="1h", overwrite=True),
        ),
        # Both spellings of protobuf's JSON, and numbers as texts.
        ('{"due_time": "1s", "repeats": "5"}', JobIn(due_time="1s", repeats=5)),
        # As the JavaScript client writes what it was not told.
        (
            '{"data": null, "schedule": null, "dueTime": "1s", "repeats": null, "ttl": null, "overwrite": null}',
            JobIn(due_time="1s"),
        ),
        ('{"schedule": "", "dueTime": "1s", "name": "", "more": [1]}', JobIn(due_time="1s")),
        # The very text that came.
        (
            '{"data": { "a" : 1.10 , "b": 1e400, "c": "\\ud800"} }',
            JobIn(data=b'{ "a" : 1.10 , "b": 1e400, "c": "\\ud800"}'),
        ),
        ('{"failurePolicy": {"drop": {}}}', JobIn(failure_policy={"drop": {}})),
        (
            '{"failure_policy": {"constant": {"max_retries": 3, "interval": "10s"}}}',
            JobIn(failure_policy={"constant": {"maxRetries": 3, "interval": "10s"}}),
        ),
        ('{"failurePolicy": {"constant": {}}}', JobIn(failure_policy={"constant": {}})),
    ],
)
def test_a_job_is_read(body: str, job: JobIn) -> None:
    assert read_job(body.encode()) == job


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"null", b"[]", b'"x"', b"{", b"{}{}", b"{} x", b'{"a"}', b"\xff", b'{"data": NaN}', b'{"ttl": 5}'),
        *(b'{"dueTime": 30}', b'{"schedule": ["x"]}', b'{"repeats": -1}', b'{"repeats": 1.5}', b'{"repeats": true}'),
        *(b'{"repeats": 99999999999}', b'{"overwrite": "yes"}', b'{"overwrite": 1}', b'{"ttl": "1s", "ttl": "2s"}'),
        *(b'{"failurePolicy": "drop"}', b'{"failurePolicy": {}}', b'{"failurePolicy": {"constant": 3}}'),
        *(b'{"failurePolicy": {"retry": {}}}', b'{"failurePolicy": {"constant": {"interval": "soon"}}}'),
        b'{"failurePolicy": {"constant": {"maxRetries": 4294967296}}}',
        b'{"failurePolicy": {"constant": {"interval": "315576000001s"}}}',
        *(b'{"failurePolicy": {"constant": {"maxRetries": "x"}}}', b'{"data": ' + b"[" * 100_000),
        *('{"repeats": "٣"}'.encode(), b'{"failurePolicy": {"drop": {}, "constant": {}}}'),
    ],
)
def test_what_is_no_job_is_refused(body: bytes) -> None:
    with pytest.raises(JobUnreadable):
        read_job(body)


def test_the_name_stands_in_the_address_only() -> None:
    with pytest.raises(JobNameInBody):
        read_job(b'{"name": "a", "dueTime": "1s"}')


def test_a_job_is_shown_as_it_was_asked_for() -> None:
    body = b'{"schedule": "@daily", "repeats": 3, "ttl": "P9D", "data": {"a": 1.10, "b": "\\ud800"}}'
    shown = show_job("ü", read_job(body))
    assert json.loads(shown) == {"name": "ü", **json.loads(body)}
    assert b'"data": {"a": 1.10, "b": "\\ud800"}}' in shown
    assert json.loads(show_job("a", JobIn(due_time="1s"))) == {"name": "a", "dueTime": "1s"}


def test_data_that_is_no_json_is_shown_as_bytes() -> None:
    job = JobIn(due_time="1s", data=b"\x00\xff", content_type="application/octet-stream", type_url="x/y")
    assert json.loads(show_job("a", job))["data"] == {"@type": "x/y", "value": "AP8="}


def test_the_largest_failure_policy_is_one_that_grpc_can_show() -> None:
    policy = {"constant": {"maxRetries": 2**32 - 1, "interval": "315576000000s"}}
    job = read_job(json.dumps({"dueTime": "1h", "failurePolicy": policy}).encode())

    shown = grpc_jobs.show_job("a", job).failure_policy.constant
    assert (shown.max_retries, shown.interval.ToJsonString()) == (2**32 - 1, "315576000000s")
