"""A running engine for tests: web, both kinds of worker, beat; and a channel to publish to."""

import os
import signal
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import redis

from tests.acceptance.receiver import Receiver, receiving
from tests.acceptance.servers import Broker, prepared, wait_until

CELERY = ("-m", "celery", "-A", "broker_project")
WORKER = ("worker", "-P", "threads", "--loglevel", "WARNING", "--without-mingle", "--without-gossip")


@dataclass
class Engine:
    """A running broker: web, both kinds of worker, beat."""

    web: httpx.Client
    redis_url: str
    broker: Broker
    worker: subprocess.Popen[bytes] = field(init=False)

    def start_delivery_worker(self) -> None:
        self.worker = self.broker.start(*CELERY, *WORKER, "-c", "8", "-Q", "delivery", "-n", "delivery@%h")

    def end_delivery_worker(self, blow: signal.Signals) -> None:
        self.worker.send_signal(blow)
        self.worker.wait(timeout=60)

    def channel(self, receiver: Receiver, **fields: Any) -> "Channel":
        """A channel of its own, with one push consumer that is the receiver."""
        name = uuid.uuid4().hex[:12]
        made = self.web.put(f"/channel/{name}", json={"token": "open", **fields})
        assert made.status_code == 201, made.text
        consumer = self.web.put(
            f"/channel/{name}/consumer/k", json={"callbackUrl": f"{receiver.url}/hook", "token": "mine"}
        )
        assert consumer.status_code == 201, consumer.text
        return Channel(self.web, name)


@dataclass
class Channel:
    web: httpx.Client
    name: str

    def publish(self, body: bytes = b"hello", **headers: str) -> httpx.Response:
        named = {f"X-Broker-{name.replace('_', '-')}": value for name, value in headers.items()}
        return self.web.post(
            f"/channel/{self.name}/broadcast",
            content=body,
            headers={
                "X-Broker-Channel-Token": "open",
                "X-Broker-Producer-ID": "shop",
                "X-Broker-Producer-Token": "sell",
                "Content-Type": "text/plain",
                **named,
            },
        )

    def read(self, location: str) -> Any:
        return self.web.get(location).json()

    def statuses(self, location: str) -> list[str]:
        return [job["status"] for job in self.read(location)["jobs"]]

    @property
    def consumer(self) -> Any:
        return self.web.get(f"/channel/{self.name}/consumer/k").json()

    def change_consumer(self, **fields: Any) -> None:
        path = f"/channel/{self.name}/consumer/k"
        changed = self.web.put(path, json=fields, headers={"If-Match": self.web.get(path).headers["ETag"]})
        assert changed.status_code == 200, changed.text

    def act(self, verb: str, *, on: str = "/consumer/k", **fields: Any) -> Any:
        """POST to an act of the consumer or of the channel."""
        done = self.web.post(f"/channel/{self.name}{on}/{verb}", json=fields)
        assert done.status_code == 200, done.text
        return done.json()


@pytest.fixture(scope="package")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """One for all modules that leave it as they found it: each of its tests has a channel of its own."""
    with prepared(tmp_path_factory.mktemp("engine")) as broker:
        yield _started(broker, first_redis=40)


@pytest.fixture(scope="module")
def own_engine(broker: Broker) -> Engine:
    """For a module with settings of its own, or that counts everything there is."""
    return _started(broker, first_redis=52)


def restarted(own: Engine) -> Engine:
    """Of a module's own engine every process ends, Redis forgets, and all of it begins anew."""
    own.broker.stop()
    own.broker.processes.clear()
    with redis.Redis.from_url(own.redis_url) as client:
        client.flushdb()
    return _started(own.broker, first_redis=52)


def _started(broker: Broker, *, first_redis: int) -> Engine:
    number = first_redis + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    redis_url = f"{os.environ['REDIS_URL'].partition('?')[0]}?db={number}"
    broker.environment |= {"REDIS_URL": redis_url, "MANAGEMENT_RATE_PER_SECOND": "0"}
    web = broker.serve()
    web.put("/producer/shop", json={"token": "sell"})
    broker.start(*CELERY, *WORKER, "-c", "4", "-Q", "dispatch", "-n", "dispatch@%h")
    broker.start(*CELERY, "beat", "--loglevel", "WARNING", "--pidfile=")
    running = Engine(web, redis_url, broker)
    running.start_delivery_worker()
    wait_until(lambda: web.get("/readyz?strict").status_code == 200, 90)
    return running


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made
