"""A web server that is asked to stop: it answers what it is asked until nobody asks any more, and cuts off nobody."""

import http.client
import signal
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx
import pytest

from tests.acceptance.servers import Broker, broker, free_port, wait_until
from tests.chaos.load import post

__all__ = ["broker"]

PATIENCE = 120.0


@dataclass
class Web:
    process: "subprocess.Popen[bytes]"
    port: int

    def connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def answers(self) -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{self.port}/healthz").status_code == 200
        except httpx.TransportError:
            return False


@contextmanager
def serving(broker: Broker, **settings: str) -> Iterator[Web]:
    port = free_port()
    web = Web(broker.start("-m", "broker_project.web", "--port", str(port), **settings), port)
    wait_until(web.answers, PATIENCE)
    yield web
    web.process.kill()
    web.process.wait()


@pytest.fixture(scope="module")
def registered(broker: Broker) -> Broker:
    web = broker.serve(WEB_DRAIN_SECONDS="0")
    web.put("/channel/c", json={"token": "open"}).raise_for_status()
    web.put("/producer/shop", json={"token": "sell"}).raise_for_status()
    return broker


def _told(connection: http.client.HTTPConnection, path: str) -> tuple[int, str | None]:
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    return answer.status, answer.getheader("connection")


def _hangs_up_on(publishing: http.client.HTTPConnection) -> bool:
    """By the short way, too: the answer says so, and the client has closed its end."""
    assert post(publishing, "c", uuid.uuid4().hex) == 201
    return publishing.sock is None


@pytest.mark.parametrize("processes", ["1", "2"])
def test_each_answer_is_the_last_of_its_connection_and_new_ones_are_let_in(registered: Broker, processes: str) -> None:
    with serving(registered, WEB_DRAIN_SECONDS="20", WEB_PROCESSES=processes) as web:
        kept, publishing, idle = web.connection(), web.connection(), socket.create_connection(("127.0.0.1", web.port))
        assert _told(kept, "/healthz") == (200, None)
        assert post(publishing, "c", f"before-{processes}") == 201
        web.stop()
        wait_until(lambda: _told(kept, "/healthz") == (200, "close"), PATIENCE)
        wait_until(lambda: _hangs_up_on(publishing), PATIENCE)
        wait_until(lambda: _told(web.connection(), "/readyz") == (503, "close"), PATIENCE)
        assert _told(web.connection(), "/channels") == (401, "close")
        idle.close()
        assert web.process.wait(PATIENCE) in (0, -signal.SIGTERM)


def test_who_has_nobody_to_say_goodbye_to_ends_at_once(registered: Broker) -> None:
    with serving(registered, WEB_DRAIN_SECONDS="600") as web:
        web.stop()
        web.process.wait(PATIENCE)


def test_who_never_hangs_up_is_not_waited_for_longer_than_was_said(registered: Broker) -> None:
    with serving(registered, WEB_DRAIN_SECONDS="0.5") as web, socket.create_connection(("127.0.0.1", web.port)):
        web.stop()
        web.process.wait(PATIENCE)


@dataclass
class Callers:
    """Each request on a connection of its own. One that was let in must be answered; one that is refused is not."""

    port: int
    answered: int = 0
    refused: int = 0
    broken: list[str] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)

    def call(self, name: str) -> None:
        number = 0
        while not self.stopping.is_set():
            number += 1
            self._once(f"{name}-{number}")

    def _once(self, message_id: str) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.connect()
        except OSError:
            self.refused += 1
            time.sleep(0.01)
            return
        try:
            assert post(connection, "c", message_id) == 201
            self.answered += 1
        except (OSError, http.client.HTTPException) as error:
            self.broken.append(repr(error))
        finally:
            connection.close()


@pytest.mark.parametrize("processes", ["1", "2"])
def test_nobody_who_was_let_in_is_cut_off(registered: Broker, processes: str) -> None:
    """New connections all the time, to the very end: those in the listener's queue are served as well."""
    with serving(registered, WEB_DRAIN_SECONDS="1", WEB_PROCESSES=processes) as web:
        callers = Callers(web.port)
        threads = [threading.Thread(target=callers.call, args=[f"caller-{processes}-{n}"]) for n in range(8)]
        for thread in threads:
            thread.start()
        wait_until(lambda: callers.answered > 100, PATIENCE)
        web.stop()
        web.process.wait(PATIENCE)
        wait_until(lambda: callers.refused > 0, PATIENCE)
        callers.stopping.set()
        for thread in threads:
            thread.join()
    assert callers.broken == []
