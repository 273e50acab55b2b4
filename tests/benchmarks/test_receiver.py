"""The receiver that counts, over real sockets."""

import http.client
import socket
from collections.abc import Iterator

import pytest

from benchmarks.prepared import new_id
from benchmarks.receiver import SLOW_EVERY, wait_seconds
from benchmarks.receivers import Received, Receiver, receiving


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with receiving() as running:
        yield running


def post(receiver: Receiver, path: str, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", receiver.port, timeout=30)
    try:
        connection.request("POST", path, b"hello", headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_each_path_is_counted_apart(receiver: Receiver) -> None:
    assert [post(receiver, path, {}) for path in ("/ok/a", "/ok/a", "/ok/b")] == [200, 200, 200]
    assert (receiver.seen("/ok/a").count, receiver.seen("/ok/b").count, receiver.seen("/ok/c").count) == (2, 1, 0)


def test_the_id_of_a_message_tells_how_long_it_was_under_way(receiver: Receiver) -> None:
    post(receiver, "/ok/timed", {"X-Broker-Message-ID": new_id().decode()})
    [took] = receiver.seen("/ok/timed").under_way_ms
    assert took > 0


def test_a_request_that_comes_in_pieces_counts_when_it_is_whole(receiver: Receiver) -> None:
    with socket.create_connection(("127.0.0.1", receiver.port)) as client:
        client.sendall(b"POST /ok/pieces HTTP/1.1\r\nContent-Len")
        client.sendall(b"gth: 5\r\n\r\nhel")
        assert receiver.seen("/ok/pieces").count == 0
        client.sendall(b"lo")
        assert client.recv(100).startswith(b"HTTP/1.1 200")
    assert receiver.seen("/ok/pieces").count == 1


def test_the_path_says_how_long_an_answer_takes() -> None:
    assert wait_seconds("/ok/a", 1) == 0
    assert wait_seconds("/hang/a", 1) == 30
    slow = [count for count in range(1, 1_001) if wait_seconds("/slow/a", count)]
    assert slow == list(range(SLOW_EVERY, 1_001, SLOW_EVERY))


def test_only_what_was_sent_meanwhile_counts() -> None:
    """Sent at 9, 10, 11 and 12 s; the last two arrived after the end."""
    received = Received(at=[9.5, 10.2, 13.0, 12.1], under_way_ms=[500.0, 200.0, 2_000.0, 100.0])

    assert received.sent_between(9.9, 11.5) == [200.0, 2_000.0]
