"""A refusal as gRPC tells it: a status, with details that a program can read."""

import grpc
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status

from broker_project.lib.errors import BrokerError
from scheduling_app.dapr.errors import DaprError, DoorFailed, PublishFailed, SubscribeFailed, as_dapr
from scheduling_app.dapr.job_errors import DeleteJobError, GetJobError, JobError

DETAILS = "grpc-status-details-bin"


# What a refusal of the broker's own is called, by what was called; else it was an event to be published.
_FAMILIES: dict[str, type[DaprError]] = {
    "ScheduleJob": JobError,
    "GetJob": GetJobError,
    "DeleteJob": DeleteJobError,
    "SubscribeTopicEvents": SubscribeFailed,
    "GetMetadata": DoorFailed,
}


async def abort(context: grpc.aio.ServicerContext, error: BrokerError, method: str) -> None:
    """Ends the call; does not return."""
    told = as_dapr(error, _FAMILIES.get(method.removesuffix("Alpha1"), PublishFailed))
    code = grpc.StatusCode[told.grpc_code]
    status = Status(code=code.value[0], message=told.detail, details=_details(told))
    await context.abort(code, told.detail, ((DETAILS, status.SerializeToString()),))


def _details(error: DaprError) -> list[Any]:
    info = ErrorInfo(reason=error.reason, domain="dapr.io", metadata={"errorCode": error.error_code, **error.metadata})
    details = [_packed(info)]
    if error.retry_after_seconds is not None:
        details.append(_packed(RetryInfo(retry_delay=Duration(seconds=error.retry_after_seconds))))
    return details


def _packed(message: ErrorInfo | RetryInfo) -> Any:
    packed = Any()
    packed.Pack(message)
    return packed
