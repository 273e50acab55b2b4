"""What stands before every call: who calls, what a refusal looks like, a line in the log."""

import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import grpc
import structlog

from broker_project.api.request_id import request_id_for
from broker_project.lib.errors import BrokerError, ServerError
from channels_app.api.pacing import pace
from scheduling_app.dapr.caller import Caller, caller_of
from scheduling_app.dapr.errors import Unauthenticated
from scheduling_app.grpc import health
from scheduling_app.grpc.peer import address_of
from scheduling_app.grpc.status import abort

log = structlog.get_logger("broker.access")

Continuation = Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler | None]]
# A broker that is busy writes no line per message.
QUIET = {"PublishEvent", "ScheduleJob", "Check"}
_caller: ContextVar[Caller] = ContextVar("caller")


def caller() -> Caller:
    """Whose call this is."""
    return _caller.get()


class Answers(grpc.aio.ServerInterceptor):
    """The outermost: a refusal becomes a status with details, a surprise becomes INTERNAL, and all are logged."""

    async def intercept_service(
        self, continuation: Continuation, details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler | None:
        handler = await continuation(details)
        if handler is None:
            return None
        name = details.method.rpartition("/")[2]
        make = grpc.stream_stream_rpc_method_handler if handler.stream_stream else grpc.unary_unary_rpc_method_handler
        act = _answering(name, handler.stream_stream or handler.unary_unary)
        return make(act, handler.request_deserializer, handler.response_serializer)


class Admission(grpc.aio.ServerInterceptor):
    """The token is looked at before the message is read: 32 MiB of a stranger's are not taken in."""

    async def intercept_service(
        self, continuation: Continuation, details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler | None:
        if details.method.startswith(f"/{health.SERVICE}/"):
            return await continuation(details)
        try:
            _caller.set(await admitted(details.invocation_metadata))
        except BrokerError as error:
            return _refusing(error)
        return await continuation(details)


async def admitted(metadata: Any) -> Caller:
    """By what the call brings along; raises."""
    given = {name: value for name, value in metadata or () if isinstance(value, str)}
    token, app_id, namespace = (given.get(name, "") for name in ("dapr-api-token", "dapr-app-id", "dapr-namespace"))
    return await caller_of(token, app_id, namespace)


def _refusing(error: BrokerError) -> grpc.RpcMethodHandler:
    """As a stream, whatever was called: of a stream nothing is read before we ask for it."""

    async def refuse(_requests: Any, context: grpc.aio.ServicerContext) -> None:
        if isinstance(error, Unauthenticated):
            await pace(address_of(context.peer()))
        raise error

    return grpc.stream_stream_rpc_method_handler(refuse)


def _answering(name: str, act: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def answer(request: Any, context: grpc.aio.ServicerContext) -> Any:
        began = time.perf_counter()
        request_id = request_id_for((key.encode(), _bytes(value)) for key, value in context.invocation_metadata() or ())
        structlog.contextvars.bind_contextvars(request_id=request_id)
        try:
            given = await act(request, context)
            _tell(name, "OK", began)
            return given
        except BrokerError as error:
            _tell(name, error.code, began)
            await abort(context, error, name)
        except Exception:
            log.exception("call.failed", method=name)
            await abort(context, ServerError(), name)

    return answer


def _tell(name: str, came_to: str, began: float) -> None:
    if name not in QUIET or came_to != "OK":
        log.info("call", method=name, result=came_to, ms=round((time.perf_counter() - began) * 1000, 1))


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode("latin1", "replace")
