"""Dapr's own Python SDK schedules jobs at the gRPC door, and asks what is there."""

import uuid
from collections.abc import Iterator

import grpc
import pytest
from dapr.clients.exceptions import DaprGrpcError
from dapr.clients.grpc._jobs import ConstantFailurePolicy, DropFailurePolicy, Job
from dapr.proto.runtime.v1 import jobs_pb2, pubsub_pb2
from dapr.proto.runtime.v1.dapr_pb2_grpc import DaprStub
from google.protobuf.any_pb2 import Any as GrpcAny
from google.protobuf.wrappers_pb2 import StringValue

from tests.acceptance.dapr_door import Door, opened, received
from tests.acceptance.engine import Engine


@pytest.fixture(scope="module")
def door(engine: Engine) -> Iterator[Door]:
    with opened(engine) as made:
        yield made


def new_app() -> str:
    return f"app-{uuid.uuid4().hex[:12]}"


def packed(text: str) -> GrpcAny:
    data = GrpcAny()
    data.Pack(StringValue(value=text))
    return data


def test_a_job_runs_at_its_time(door: Door) -> None:
    app = new_app()
    with door.subscribed(f"{app}-jobs") as subscription, door.client(app) as client:
        client.schedule_job(Job("backup", due_time="1s", data=GrpcAny(value=b"my-prod-db")))
        [run] = received(subscription)
    assert run.raw_data() == b"my-prod-db"


def test_a_job_with_a_schedule_runs_as_often_as_it_says(door: Door) -> None:
    app = new_app()
    with door.subscribed(f"{app}-jobs") as subscription, door.client(app) as client:
        client.schedule_job(Job("tick", schedule="@every 1s", repeats=2, data=packed("tick")))
        runs = received(subscription, 2)
    assert [StringValue.FromString(run.raw_data()).value for run in runs] == ["tick", "tick"]


@pytest.mark.parametrize(
    "job",
    [
        Job("once", due_time="1h", ttl="2h", data=packed("x"), failure_policy=DropFailurePolicy()),
        Job("bytes", due_time="1h", data=GrpcAny(value=b"\x00\xff")),
        Job("without", due_time="1h"),
        Job("often", schedule="0 30 * * * *", repeats=3, data=packed("x")),
        Job("with", schedule="@daily", failure_policy=ConstantFailurePolicy(max_retries=2, interval_seconds=5)),
    ],
    ids=lambda job: job.name,
)
def test_a_job_is_shown_as_it_was_asked_for_until_it_is_deleted(door: Door, job: Job) -> None:
    with door.client(new_app()) as client:
        client.schedule_job(job)
        shown = client.get_job(job.name)
        assert shown._get_proto() == job._get_proto()
        client.delete_job(job.name)
        with pytest.raises(DaprGrpcError) as error:
            client.get_job(job.name)
        assert error.value.code() is grpc.StatusCode.NOT_FOUND
        with pytest.raises(DaprGrpcError) as error:
            client.delete_job(job.name)
        assert error.value.code() is grpc.StatusCode.NOT_FOUND


ALPHA = pytest.mark.parametrize("suffix", ["", "Alpha1"])


@ALPHA
def test_a_job_is_scheduled_shown_and_deleted_under_both_names_of_a_call(door: Door, suffix: str) -> None:
    told = [("dapr-api-token", door.key), ("dapr-app-id", new_app())]
    job = jobs_pb2.Job(name="backup", due_time="1h", data=packed("x"))
    with grpc.insecure_channel(door.address) as channel:
        stub = DaprStub(channel)
        schedule, get, delete = (getattr(stub, f"{verb}Job{suffix}") for verb in ("Schedule", "Get", "Delete"))
        schedule(jobs_pb2.ScheduleJobRequest(job=job), metadata=told)
        assert get(jobs_pb2.GetJobRequest(name="backup"), metadata=told).job == job
        delete(jobs_pb2.DeleteJobRequest(name="backup"), metadata=told)
        with pytest.raises(grpc.RpcError) as error:
            get(jobs_pb2.GetJobRequest(name="backup"), metadata=told)
    assert error.value.code() is grpc.StatusCode.NOT_FOUND


@ALPHA
def test_events_are_published_together_under_both_names_of_the_call(door: Door, suffix: str) -> None:
    app = new_app()
    entry = pubsub_pb2.BulkPublishRequestEntry(entry_id="1", event=b"hello", content_type="text/plain")
    request = pubsub_pb2.BulkPublishRequest(pubsub_name="pubsub", topic=app, entries=[entry])
    with door.subscribed(app) as subscription, grpc.insecure_channel(door.address) as channel:
        publish = getattr(DaprStub(channel), f"BulkPublishEvent{suffix}")
        answer = publish(request, metadata=[("dapr-api-token", door.key), ("dapr-app-id", app)])
        [event] = received(subscription)
    assert (list(answer.failedEntries), event.raw_data()) == ([], b"hello")


def test_a_job_of_one_name_is_replaced_only_where_that_is_asked_for(door: Door) -> None:
    with door.client(new_app()) as client:
        client.schedule_job(Job("j", due_time="1h"))
        with pytest.raises(DaprGrpcError) as error:
            client.schedule_job(Job("j", due_time="2h"))
        assert error.value.code() is grpc.StatusCode.ALREADY_EXISTS
        client.schedule_job(Job("j", due_time="3h"), overwrite=True)
        assert client.get_job("j").due_time == "3h"


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        (Job("j", due_time="soon"), "DAPR_SCHEDULER_SCHEDULE_JOB"),
        (Job("j", schedule="now and then"), "DAPR_SCHEDULER_SCHEDULE_JOB"),
        (Job("a|b", due_time="1h"), "DAPR_SCHEDULER_JOB_NAME_EMPTY"),
        (Job("j", due_time="1h", data=GrpcAny(type_url="\x00", value=b"x")), "DAPR_SCHEDULER_SCHEDULE_JOB"),
        (
            Job("j", due_time="1h", failure_policy=ConstantFailurePolicy(interval_seconds=-5)),
            "DAPR_SCHEDULER_SCHEDULE_JOB",
        ),
        (
            Job("j", due_time="1h", failure_policy=ConstantFailurePolicy(interval_seconds=2**60)),
            "DAPR_SCHEDULER_SCHEDULE_JOB",
        ),
    ],
)
def test_a_job_that_cannot_be_is_refused_with_a_reason(door: Door, job: Job, reason: str) -> None:
    with door.client(new_app()) as client, pytest.raises(DaprGrpcError) as error:
        client.schedule_job(job)
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert error.value.status_details().error_info["reason"] == reason


def test_data_that_is_too_large_is_refused(door: Door) -> None:
    with door.client(new_app()) as client, pytest.raises(DaprGrpcError) as error:
        client.schedule_job(Job("j", due_time="1h", data=GrpcAny(value=bytes(2 * 1024 * 1024))))
    assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_the_metadata_names_the_application_and_its_components(door: Door) -> None:
    app = new_app()
    with door.client(app) as client:
        told = client.get_metadata()
    components = {one.name: one.capabilities for one in told.registered_components}
    assert told.application_id == app
    assert "DELAYED_MESSAGING" in components["delayed"]
    assert "DELAYED_MESSAGING" not in components["pubsub"]
