"""A stream before it is a subscription."""

import asyncio

import grpc
import pytest
from dapr.proto.runtime.v1.dapr_pb2_grpc import DaprStub

from scheduling_app.grpc import subscribe
from scheduling_app.grpc.server import _server
from tests.acceptance.servers import free_port

ENDED_SECONDS = 60.0


async def refused(api_key: str) -> grpc.aio.AioRpcError:
    """How a stream ends that says nothing."""
    port = free_port()
    server = _server("127.0.0.1", port, asyncio.Event())
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            stream = DaprStub(channel).SubscribeTopicEventsAlpha1(metadata=[("dapr-api-token", api_key)])
            with pytest.raises(grpc.aio.AioRpcError) as error:
                await asyncio.wait_for(stream.read(), ENDED_SECONDS)
            return error.value
    finally:
        await server.stop(None)


@pytest.mark.usefixtures("door_threads")
def test_a_stream_that_does_not_say_what_it_is_for_is_ended(api_key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscribe, "INITIAL_SECONDS", 0.05)
    ended = asyncio.run(refused(api_key))
    assert (ended.code(), ended.details()) == (grpc.StatusCode.INVALID_ARGUMENT, subscribe.NoInitialRequest.__doc__)
