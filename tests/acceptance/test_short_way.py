"""A plain broadcast is answered by the protocol itself: nobody can tell, however the request arrives."""

import re
import socket
import uuid
from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.acceptance.servers import Broker, wait_until

Dial = Callable[[], socket.socket]


@pytest.fixture(scope="module")
def web(broker: Broker) -> httpx.Client:
    client = broker.serve(REFUSALS_PER_MINUTE="0")
    client.put("/channel/orders", json={"token": "open"})
    client.put("/producer/shop", json={"token": "sell"})
    publish(client)
    return client


@pytest.fixture
def dialled(web: httpx.Client) -> Iterator[Dial]:
    opened: list[socket.socket] = []

    def dial() -> socket.socket:
        opened.append(socket.create_connection((web.base_url.host, web.base_url.port or 80), timeout=20))
        return opened[-1]

    yield dial
    for connection in opened:
        connection.close()


def publish(client: httpx.Client, **headers: str) -> httpx.Response:
    tokens = {"X-Broker-Channel-Token": "open", "X-Broker-Producer-ID": "shop", "X-Broker-Producer-Token": "sell"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.post("/channel/orders/broadcast", content=b"hello", headers={**tokens, **named})


def request(message_id: str, *lines: str, version: str = "1.1", body: bytes = b"hello") -> bytes:
    head = [
        f"POST /channel/orders/broadcast HTTP/{version}",
        "Host: broker",
        "X-Broker-Channel-Token: open",
        "X-Broker-Producer-ID: shop",
        "X-Broker-Producer-Token: sell",
        f"X-Broker-Message-ID: {message_id}",
        *lines,
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def read_until(connection: socket.socket, answers: int) -> str:
    """What comes until there are as many heads, all without a body."""
    heard = b""
    while heard.count(b"\r\n\r\n") < answers:
        piece = connection.recv(65536)
        assert piece, heard
        heard += piece
    return heard.decode()


def stored(web: httpx.Client, message_id: str) -> str:
    return str(web.get(f"/channel/orders/message/{message_id}").json()["payload"])


def test_the_answer_is_the_same_on_both_ways(web: httpx.Client) -> None:
    """A body in chunks takes the long one."""
    short = publish(web, X_Request_ID="mine")
    long = web.post(
        "/channel/orders/broadcast",
        content=iter([b"he", b"llo"]),
        headers={
            "X-Broker-Channel-Token": "open",
            "X-Broker-Producer-ID": "shop",
            "X-Broker-Producer-Token": "sell",
            "X-Request-ID": "mine",
        },
    )

    assert (short.status_code, long.status_code) == (201, 201)
    assert short.headers.keys() == long.headers.keys()
    for name in ("content-type", "content-length", "cache-control", "x-request-id"):
        assert short.headers[name] == long.headers[name]


def test_many_on_one_connection_are_answered_in_order(web: httpx.Client, dialled: Dial) -> None:
    """All sent at once, one of them a refusal that takes the long way."""
    ids = [uuid.uuid4().hex for _ in range(5)]
    sent = [request(each) for each in ids]
    sent[2] = sent[2].replace(b"X-Broker-Message-ID", b"X-Broker-Message-Priority")
    connection = dialled()

    connection.sendall(b"".join(sent))

    heard = read_until(connection, 5)
    assert re.findall(r"HTTP/1\.1 (\d+)", heard) == ["201", "201", "400", "201", "201"]
    assert re.findall("location: .*/(.*)\r", heard) == [*ids[:2], *ids[3:]]


def test_what_comes_before_the_answer_is_out_waits_for_it(web: httpx.Client, dialled: Dial) -> None:
    """The next request, and one with the same id, in pieces that end where they like."""
    ids = [uuid.uuid4().hex for _ in range(2)]
    first, second = request(ids[0]), request(ids[1])
    connection = dialled()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    for piece in (first, first[:30], first[30:] + second[:-1], second[-1:]):
        connection.sendall(piece)

    heard = b""
    while heard.count(b"HTTP/1.1 201") < 2:
        heard += connection.recv(65536)
    assert re.findall(rb"HTTP/1\.1 (\d+)", heard) == [b"201", b"409", b"201"]
    assert [stored(web, each) for each in ids] == ["hello", "hello"]


def test_a_request_in_single_bytes_is_stored_whole(web: httpx.Client, dialled: Dial) -> None:
    name = uuid.uuid4().hex
    connection = dialled()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    for each in request(name):
        connection.send(bytes([each]))

    assert "201" in read_until(connection, 1)
    assert stored(web, name) == "hello"


def test_a_body_cut_off_is_not_stored(web: httpx.Client, dialled: Dial) -> None:
    name = uuid.uuid4().hex
    connection = dialled()
    connection.sendall(request(name)[:-2])
    connection.close()

    publish(web)

    assert web.get(f"/channel/orders/message/{name}").status_code == 404


@pytest.mark.parametrize(("line", "version"), [("Connection: close", "1.1"), ("X-Nothing: 1", "1.0")])
def test_who_wants_no_more_is_hung_up_on(web: httpx.Client, dialled: Dial, line: str, version: str) -> None:
    connection = dialled()
    connection.sendall(request(uuid.uuid4().hex, line, version=version))

    assert "201" in read_until(connection, 1)
    assert connection.recv(10) == b""


def test_the_same_id_again_is_409_with_its_place(web: httpx.Client) -> None:
    name = uuid.uuid4().hex
    publish(web, X_Broker_Message_ID=name)

    again = publish(web, X_Broker_Message_ID=name)

    assert (again.status_code, again.json()["samePayload"]) == (409, True)
    assert again.headers["location"].endswith(name)


def test_a_changed_token_is_refused(web: httpx.Client) -> None:
    web.put("/channel/changing", json={"token": "before"})
    headers = {"X-Broker-Producer-ID": "shop", "X-Broker-Producer-Token": "sell", "X-Broker-Channel-Token": "before"}
    assert web.post("/channel/changing/broadcast", content=b"x", headers=headers).status_code == 201
    etag = web.get("/channel/changing").headers["ETag"]
    web.put("/channel/changing", json={"token": "after"}, headers={"If-Match": etag})

    wait_until(lambda: web.post("/channel/changing/broadcast", content=b"x", headers=headers).status_code == 403, 10)
