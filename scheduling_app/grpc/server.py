"""The server: its limits, what begins before it, and its end."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
import structlog
from django.conf import settings

from broker_project.api.door_bucket import close_door_bucket
from broker_project.api.door_pool import close_door_pool, open_door_pool
from broker_project.api.ending import end
from channels_app.api.pull import routes as pull
from channels_app.known import keep_fresh
from scheduling_app.door import commits
from scheduling_app.grpc import calls, health
from scheduling_app.grpc.interceptors import Admission, Answers
from scheduling_app.grpc.methods import handlers
from scheduling_app.grpc.subscribe import Subscriptions

log = structlog.get_logger(__name__)

# A bulk request as large as a batch may be; the rest is for the names and ids around its entries.
AROUND_BYTES = 1024 * 1024
STOP_SECONDS = 10.0
# Calls and subscriptions at a time; who comes then is told RESOURCE_EXHAUSTED.
MOST_CALLS = 2_000
OPTIONS = [
    ("grpc.max_receive_message_length", settings.MAX_BATCH_BYTES + AROUND_BYTES),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_metadata_size", settings.MAX_HEADER_BYTES),
    # A second server on the port is an error, not a rival.
    ("grpc.so_reuseport", 0),
    # Who has gone without a word is noticed, and what it had goes to the next.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    # Clients may ask for signs of life, too.
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
]


class Unsigned(Exception):
    """GATEWAY_SECRETS is set, and calls over gRPC cannot be signed: this door does not open beside such a gateway."""

    def __str__(self) -> str:
        return str(self.__doc__)


async def serve(host: str, port: int) -> None:
    """Until it is asked to stop."""
    if settings.GATEWAY_SECRETS:
        raise Unsigned
    stopping = asyncio.Event()
    for asked in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(asked, stopping.set)
    async with _doors():
        server = _server(host, port, stopping)
        await server.start()
        log.info("grpc.listening", host=host, port=port)
        await stopping.wait()
        end()
        await server.stop(STOP_SECONDS)


def _server(host: str, port: int, stopping: asyncio.Event) -> grpc.aio.Server:
    server = grpc.aio.server(interceptors=[Answers(), Admission()], options=OPTIONS, maximum_concurrent_rpcs=MOST_CALLS)
    streams = {"SubscribeTopicEventsAlpha1": Subscriptions(stopping).subscribe}
    server.add_generic_rpc_handlers((health.HANDLERS, handlers(calls.CALLS, streams)))
    server.add_insecure_port(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
    return server


@asynccontextmanager
async def _doors() -> AsyncIterator[None]:
    """As the web server has them: connections, what is known of tokens, group commits, the desk."""
    begun = (open_door_pool, keep_fresh, commits.start_door, *pull.ON_START)
    for begin in begun:
        await begin()
    try:
        yield
    finally:
        for stop in (*pull.ON_STOP, commits.stop_door, close_door_bucket, close_door_pool):
            await stop()
