"""ScheduleJob, GetJob and DeleteJob: the acts of the door over HTTP, with gRPC's messages."""

import re
from collections.abc import Mapping
from typing import Any

import grpc
from dapr.proto.common.v1.common_pb2 import JobFailurePolicy
from dapr.proto.runtime.v1.jobs_pb2 import (
    DeleteJobRequest,
    DeleteJobResponse,
    GetJobRequest,
    GetJobResponse,
    Job,
    ScheduleJobRequest,
    ScheduleJobResponse,
)
from django.conf import settings
from google.protobuf.duration_pb2 import Duration

from scheduling_app.dapr import jobs
from scheduling_app.dapr.durations import read_period
from scheduling_app.dapr.errors import PayloadTooLarge
from scheduling_app.dapr.job import JobIn
from scheduling_app.dapr.job_errors import JobUnreadable
from scheduling_app.grpc.interceptors import caller

# What data is that came as google.protobuf.Any: a message, or bytes without a name.
PROTOBUF, BYTES = "application/x-protobuf", "application/octet-stream"
NO_DATA = JobIn().data
_TYPE_URL = re.compile(r"[\x21-\x7e]{0,1024}")


async def schedule_job(request: ScheduleJobRequest, _context: grpc.aio.ServicerContext) -> ScheduleJobResponse:
    await jobs.schedule(caller(), request.job.name, read_job(request.job, overwrite=request.overwrite))
    return ScheduleJobResponse()


async def get_job(request: GetJobRequest, _context: grpc.aio.ServicerContext) -> GetJobResponse:
    return GetJobResponse(job=show_job(request.name, await jobs.get(caller(), request.name)))


async def delete_job(request: DeleteJobRequest, _context: grpc.aio.ServicerContext) -> DeleteJobResponse:
    await jobs.delete(caller(), request.name)
    return DeleteJobResponse()


def read_job(job: Job, *, overwrite: bool) -> JobIn:
    if len(job.data.value) > settings.MAX_PAYLOAD_BYTES:
        raise PayloadTooLarge(f"The data of a job has at most {settings.MAX_PAYLOAD_BYTES} bytes.")
    if not _TYPE_URL.fullmatch(job.data.type_url):
        raise JobUnreadable("The type_url of data is an address, of printable ASCII.")
    wanted: dict[str, Any] = {
        "schedule": job.schedule or None,
        "due_time": job.due_time or None,
        "repeats": job.repeats if job.HasField("repeats") else None,
        "ttl": job.ttl or None,
        "failure_policy": _policy(job.failure_policy),
        "overwrite": overwrite,
    }
    if job.data.value:
        kind = PROTOBUF if job.data.type_url else BYTES
        wanted |= {"data": job.data.value, "content_type": kind, "type_url": job.data.type_url}
    return JobIn(**wanted)


def show_job(name: str, job: JobIn) -> Job:
    """As it was asked for; JSON that came over HTTP is shown as bytes."""
    shown = Job(name=name, schedule=job.schedule, due_time=job.due_time, repeats=job.repeats, ttl=job.ttl)
    if job.data != NO_DATA:
        shown.data.type_url, shown.data.value = job.type_url, job.data
    if job.failure_policy is not None:
        shown.failure_policy.CopyFrom(_shown_policy(job.failure_policy))
    return shown


def _policy(policy: JobFailurePolicy) -> dict[str, Any] | None:
    """As JSON writes it, by which it is remembered."""
    if policy.HasField("drop"):
        return {"drop": {}}
    if not policy.HasField("constant"):
        return None
    told: dict[str, Any] = {}
    if policy.constant.HasField("max_retries"):
        told["maxRetries"] = policy.constant.max_retries
    if policy.constant.HasField("interval"):
        told["interval"] = _duration(policy.constant.interval)
    return {"constant": told}


def _duration(interval: Duration) -> str:
    try:
        text = interval.ToJsonString()
    except ValueError:
        # It is longer than protobuf's own rules allow.
        text = ""
    if read_period(text) is None:
        raise JobUnreadable("The interval of a failurePolicy is a duration, as 10s.")
    return text


def _shown_policy(policy: Mapping[str, Any]) -> JobFailurePolicy:
    shown = JobFailurePolicy()
    if "drop" in policy:
        shown.drop.SetInParent()
        return shown
    constant = policy.get("constant", {})
    shown.constant.SetInParent()
    if "maxRetries" in constant:
        shown.constant.max_retries = constant["maxRetries"]
    if (interval := read_period(constant.get("interval", ""))) is not None:
        shown.constant.interval.FromMicroseconds(round(interval.seconds * 1_000_000))
    return shown
