"""The gRPC door beside a running engine, and Dapr's own Python SDK as its client."""

import signal
import subprocess
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, LiteralString

import psycopg
from dapr.clients import DaprClient
from dapr.clients.grpc.interceptors import DaprClientInterceptor
from dapr.clients.grpc.subscription import Subscription
from dapr.common.pubsub.subscription import SubscriptionMessage
from dapr.conf import settings

from broker_project.cli.readiness import http2_answers
from channels_app.models import JobStatus
from tests.acceptance.dapr import THREE_COMPONENTS
from tests.acceptance.engine import Engine
from tests.acceptance.servers import START_SECONDS, STOP_SECONDS, free_port, wait_until

WAIT_SECONDS = 60.0
JOBS: LiteralString = (
    "SELECT j.status FROM delivery_job j JOIN message m ON m.id = j.message_id JOIN channel c ON c.id = m.channel_id"
    " WHERE c.public_id = %s ORDER BY j.id"
)


@dataclass
class Door:
    engine: Engine
    port: int = field(default_factory=free_port)
    environment: dict[str, str] = field(default_factory=dict)
    # A web server that knows of this door: the SDK waits for its word.
    health: str = field(init=False)
    process: "subprocess.Popen[bytes]" = field(init=False)

    def start(self) -> None:
        self.process = self.engine.broker.start(
            "-m", "broker_project.grpc_server", "--port", str(self.port), **self.environment
        )
        wait_until(lambda: http2_answers(self.address)({}, 0.0), START_SECONDS)

    def stop(self, blow: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(blow)
        self.process.wait(STOP_SECONDS)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def key(self) -> str:
        return self.engine.web.headers["Authorization"].removeprefix("Bearer ")

    @contextmanager
    def client(self, app_id: str = "", *, token: str | None = None, **options: Any) -> Iterator[DaprClient]:
        """As an application makes it; without an app id, it is the producer whose token it has, or nameless."""
        told: Any = settings
        told.DAPR_API_TOKEN = self.key if token is None else token
        told.DAPR_HTTP_ENDPOINT = self.health
        named = [DaprClientInterceptor([("dapr-app-id", app_id)])] if app_id else None
        with DaprClient(self.address, interceptors=named, **options) as client:
            yield client

    @contextmanager
    def subscribed(self, topic: str, app_id: str = "shop", **options: Any) -> Iterator[Subscription]:
        with self.client(app_id) as client:
            subscription = client.subscribe(options.pop("pubsub", "pubsub"), topic, **options)
            try:
                yield subscription
            finally:
                subscription.close()

    def rows(self, query: LiteralString, *arguments: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.engine.broker.database_url, autocommit=True) as connection:
            return connection.execute(query, arguments).fetchall()

    def statuses(self, topic: str) -> list[str]:
        """Of the jobs of a topic, in the order that they were made."""
        found = self.rows(JOBS, topic)
        return [JobStatus(status).name for (status,) in found]

    def add_components(self, components: str) -> None:
        """As a team that has them brings them."""
        file = self.engine.broker.data_dir / "components.yaml"
        file.write_text(components)
        self.engine.broker.manage("load_components", str(file))


def new_topic() -> str:
    return f"topic-{uuid.uuid4().hex[:12]}"


@contextmanager
def opened(engine: Engine, components: str = THREE_COMPONENTS) -> Iterator[Door]:
    door = Door(engine)
    door.add_components(components)
    door.health = str(engine.broker.serve(GRPC_ADDRESS=door.address).base_url).rstrip("/")
    door.start()
    try:
        yield door
    finally:
        door.stop()


def received(subscription: Subscription, number: int = 1) -> list[SubscriptionMessage]:
    """The next events, each answered for before the next is read."""
    return [_answered(subscription, following(subscription)) for _ in range(number)]


def _answered(subscription: Subscription, event: SubscriptionMessage) -> SubscriptionMessage:
    subscription.respond_success(event)
    return event


def following(subscription: Subscription) -> SubscriptionMessage:
    """The next event, not answered for."""
    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(subscription.next_message)
        try:
            return reading.result(WAIT_SECONDS)
        except TimeoutError:
            # Else the thread would wait on, and the test with it.
            subscription.close()
            raise
