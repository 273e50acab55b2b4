"""Publishing and delivering, all the time: what a blow interrupts."""

import http.client
import itertools
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.acceptance.servers import wait_until
from tests.chaos.broker import Broker
from tests.chaos.receiver import Delivery, Receiver
from tests.chaos.scale import Scale

# Where the consumers of each channel are posted to.
LAYOUT = {"one": ["now"], "two": ["now", "now"], "slow": ["now", "slow"]}
# The lease of a killed worker is this and 15 seconds.
TIMEOUT_SECONDS = 2
PUBLISHERS = 4
AGAIN_SECONDS = 0.05
PATIENCE_SECONDS = 120.0


@dataclass
class Load:
    broker: Broker
    receiver: Receiver
    scale: Scale
    # By channel: its consumers. Each load has channels of its own.
    channels: dict[str, list[str]] = field(default_factory=dict)
    accepted: set[tuple[str, str]] = field(default_factory=set)
    # Every answer that was not 201, and every connection that broke.
    troubles: list[str] = field(default_factory=list)
    publish_seconds: list[float] = field(default_factory=list)
    # Where publishers go, unless it is the web server itself.
    connect: Callable[[], http.client.HTTPConnection] | None = None
    _stopping: threading.Event = field(default_factory=threading.Event)

    def register(self) -> None:
        for kind, paths in LAYOUT.items():
            channel = add_channel(self.broker, [f"{self.receiver.url}/{path}" for path in paths], kind)
            self.channels[channel] = [f"k{number}" for number in range(len(paths))]

    def deliveries(self) -> list[Delivery]:
        return [delivery for delivery in self.receiver.deliveries() if delivery.channel in self.channels]

    def publish_more(self) -> None:
        """Wait until so many more were accepted."""
        enough = len(self.accepted) + self.scale.between
        wait_until(lambda: len(self.accepted) >= enough, PATIENCE_SECONDS)

    def deliver_more(self) -> None:
        enough = len(self.deliveries()) + self.scale.between
        wait_until(lambda: len(self.deliveries()) >= enough, PATIENCE_SECONDS)

    def flow(self) -> None:
        """Both ends are busy."""
        self.publish_more()
        self.deliver_more()

    def go_on_for(self, seconds: float) -> None:
        """How long a blow lasts is part of it."""
        begun = len(self.accepted)
        time.sleep(seconds)
        assert len(self.accepted) > begun, "publishing stood still"

    def p99_ms(self, since: int = 0) -> float:
        seconds = sorted(self.publish_seconds[since:])
        return 1000 * seconds[int(len(seconds) * 0.99)]

    def publish_until_told(self, name: str) -> None:
        """One publisher: paced, and stubborn with each message."""
        connection = self.connect() if self.connect else http.client.HTTPConnection(*self.broker.address, timeout=10)
        pause = PUBLISHERS / self.scale.per_second
        for number, channel in enumerate(itertools.cycle(self.channels)):
            self._publish(connection, channel, f"{name}-{number}")
            self.accepted.add((channel, f"{name}-{number}"))
            if self._stopping.wait(pause):
                connection.close()
                return

    def _publish(self, connection: http.client.HTTPConnection, channel: str, message_id: str) -> None:
        """Sent again with the same id until it is accepted; 409 then says that it was."""
        for again in itertools.count():
            trouble = self._try(connection, channel, message_id)
            if not trouble or (again and trouble == "409"):
                return
            self.troubles.append(trouble)
            time.sleep(AGAIN_SECONDS)

    def _try(self, connection: http.client.HTTPConnection, channel: str, message_id: str) -> str:
        begun = time.perf_counter()
        try:
            status = post(connection, channel, message_id)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            return type(error).__name__
        self.publish_seconds.append(time.perf_counter() - begun)
        return "" if status == 201 else str(status)

    def stop(self, threads: list[threading.Thread]) -> None:
        self._stopping.set()
        for thread in threads:
            thread.join(PATIENCE_SECONDS)
        assert not any(thread.is_alive() for thread in threads), "a publisher never had its last message accepted"


def add_channel(broker: Broker, callbacks: list[str], kind: str = "", timeout_seconds: float = TIMEOUT_SECONDS) -> str:
    """A channel of its own with a consumer, k0, k1, … per callback."""
    channel = f"{kind}-{uuid.uuid4().hex[:8]}"
    broker.put(f"/channel/{channel}", token="open", retryPolicy={"retries": 20})
    for number, url in enumerate(callbacks):
        path = f"/channel/{channel}/consumer/k{number}"
        broker.put(path, token="mine", callbackUrl=url, timeoutSeconds=timeout_seconds)
    return channel


def post(connection: http.client.HTTPConnection, channel: str, message_id: str) -> int:
    headers = {
        "X-Broker-Channel-Token": "open",
        "X-Broker-Producer-ID": "shop",
        "X-Broker-Producer-Token": "sell",
        "X-Broker-Message-ID": message_id,
    }
    connection.request("POST", f"/channel/{channel}/broadcast", message_id.encode(), headers)
    answer = connection.getresponse()
    answer.read()
    return answer.status


@contextmanager
def under_load(
    broker: Broker,
    receiver: Receiver,
    scale: Scale,
    connect: Callable[[], http.client.HTTPConnection] | None = None,
) -> Iterator[Load]:
    load = Load(broker, receiver, scale, connect=connect)
    load.register()
    names = [f"p{number}" for number in range(PUBLISHERS)]
    threads = [threading.Thread(target=load.publish_until_told, args=[name], daemon=True) for name in names]
    for thread in threads:
        thread.start()
    try:
        load.flow()
        yield load
    finally:
        load.stop(threads)
