"""The web server as clients meet it: over sockets, several at once, some of them slow or rude."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.client import HTTPResponse
from typing import Any

import httpx
import pytest
from django.conf import settings

from tests.acceptance.servers import Broker, scratch_database, wait_until

AWAY = "unix:///nonexistent/redis.sock?db=0"


@pytest.fixture(scope="module")
def pair(broker: Broker) -> tuple[httpx.Client, httpx.Client]:
    """Two processes on one database; neither can reach a Redis."""
    impatient = {"BODY_TIMEOUT_SECONDS": "3", "MANAGEMENT_RATE_PER_SECOND": "0"}
    return broker.serve(REDIS_URL=AWAY, **impatient), broker.serve(REDIS_URL=AWAY, **impatient)


@pytest.fixture
def web(pair: tuple[httpx.Client, httpx.Client]) -> httpx.Client:
    return pair[0]


@pytest.fixture
def dialled(web: httpx.Client) -> Iterator[Any]:
    """Opens raw connections to the server."""
    with ExitStack() as stack:

        def dial() -> socket.socket:
            address = (web.base_url.host, web.base_url.port)
            return stack.enter_context(socket.create_connection(address, timeout=20))

        yield dial


def answer(connection: socket.socket) -> HTTPResponse:
    response = HTTPResponse(connection)
    response.begin()
    return response


def head(web: httpx.Client, line: str, *more: str) -> bytes:
    lines = [line, "Host: broker", f"Authorization: {web.headers['Authorization']}", *more]
    return "\r\n".join([*lines, "", ""]).encode()


def test_of_two_processes_with_the_same_knowledge_exactly_one_wins(pair: tuple[httpx.Client, httpx.Client]) -> None:
    for turn in range(10):
        known = pair[0].put(f"/channel/race-{turn}", json={}).headers["Last-Modified"]
        together = threading.Barrier(2)

        def update(
            client: httpx.Client, path: str = f"/channel/race-{turn}", since: str = known, both: Any = together
        ) -> int:
            both.wait()
            return client.put(path, json={"name": "mine"}, headers={"If-Unmodified-Since": since}).status_code

        with ThreadPoolExecutor(2) as pool:
            assert sorted(pool.map(update, pair)) == [200, 412]


def test_of_two_that_create_at_once_one_creates(pair: tuple[httpx.Client, httpx.Client]) -> None:
    for turn in range(10):
        together = threading.Barrier(2)

        def create(client: httpx.Client, path: str = f"/producer/new-{turn}", both: Any = together) -> int:
            both.wait()
            return client.put(path, json={}).status_code

        with ThreadPoolExecutor(2) as pool:
            assert sorted(pool.map(create, pair)) == [201, 400]


def test_a_token_changed_by_one_process_is_refused_by_the_other_within_a_second(
    pair: tuple[httpx.Client, httpx.Client],
) -> None:
    here, there = pair
    made = here.put("/channel/rotated", json={"token": "old"})
    stranger = httpx.Client(base_url=there.base_url)
    old, new = {"X-Broker-Channel-Token": "old"}, {"X-Broker-Channel-Token": "new"}
    wait_until(lambda: stranger.get("/channel/rotated", headers=old).status_code == 200, 5)

    here.put("/channel/rotated", json={"token": "new"}, headers={"If-Match": made.headers["ETag"]})

    # Half a second is how old a process's knowledge may be; no assertion on a clock that the machine shares.
    assert settings.REGISTRY_MAX_AGE_SECONDS <= 0.5
    wait_until(lambda: stranger.get("/channel/rotated", headers=old).status_code == 403, 5)
    assert stranger.get("/channel/rotated", headers=new).status_code == 200


def test_twenty_slow_uploads_hold_up_nobody(web: httpx.Client, dialled: Any) -> None:
    slow = [dialled() for _ in range(20)]
    for connection in slow:
        connection.sendall(
            head(web, "PUT /channel/slow HTTP/1.1", "Content-Type: application/json", "Content-Length: 20")
        )
    stop = threading.Event()

    def drip() -> None:
        while not stop.wait(0.2):
            for connection in slow:
                connection.sendall(b" ")

    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        for path in ("/channels", "/admin/login/", "/healthz", "/readyz", "/_status"):
            assert web.get(path).status_code == 200
    finally:
        stop.set()
        dripping.join()


def test_twenty_clients_that_do_not_read_hold_up_nobody(web: httpx.Client, dialled: Any) -> None:
    large = "/static/drf_spectacular_sidecar/redoc/bundles/redoc.standalone.js.map"
    assert int(web.head(large, headers={"Accept-Encoding": "identity"}).headers["Content-Length"]) > 3_000_000
    for _ in range(20):
        connection = dialled()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(head(web, f"GET {large} HTTP/1.1"))

    for path in ("/channels", "/admin/login/", "/docs"):
        assert web.get(path).status_code == 200


def test_a_channel_deleted_while_its_consumers_change_makes_no_deadlock(
    pair: tuple[httpx.Client, httpx.Client],
) -> None:
    for turn in range(10):
        path = f"/channel/busy-{turn}"
        channel = pair[0].put(path, json={}).headers["ETag"]
        consumers = [f"{path}/consumer/c{number}" for number in range(4)]
        known = [pair[0].put(consumer, json={"type": "pull"}).headers["ETag"] for consumer in consumers]

        with ThreadPoolExecutor(5) as pool:
            changes = [
                pool.submit(
                    pair[number % 2].put, consumers[number], json={"name": "x"}, headers={"If-Match": known[number]}
                )
                for number in range(4)
            ]
            assert pool.submit(pair[1].delete, path, headers={"If-Match": channel}).result().status_code == 204
            assert {done.result().status_code for done in changes} <= {200, 404, 412}


def test_a_body_that_does_not_come_in_time_is_408_and_stores_nothing(web: httpx.Client, dialled: Any) -> None:
    connection = dialled()
    connection.sendall(head(web, "PUT /channel/late HTTP/1.1", "Content-Length: 10") + b'{"')

    response = answer(connection)

    assert response.status == 408
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.headers["Connection"] == "close"
    assert web.get("/channel/late").status_code == 404


@pytest.mark.parametrize("length", ["Content-Length: 50", "Transfer-Encoding: chunked"])
def test_a_put_cut_off_half_way_changes_nothing(web: httpx.Client, dialled: Any, broker: Broker, length: str) -> None:
    connection = dialled()
    piece = b'1a\r\n{"name": "never stored"     \r\n' if "chunked" in length else b'{"name": "never stored"}'
    request_id = f"cut-{len(length)}"
    connection.sendall(
        head(web, "PUT /channel/cut HTTP/1.1", "Content-Type: application/json", f"X-Request-ID: {request_id}", length)
        + piece
    )
    connection.close()

    wait_until(lambda: f"request_id={request_id} status=499" in broker.logs(), 10)
    assert web.get("/channel/cut").status_code == 404


def test_a_chunked_body_arrives_whole(web: httpx.Client) -> None:
    pieces = (piece for piece in (b'{"na', b'me": "in ', b'pieces"}'))

    response = web.put("/channel/chunked", content=pieces, headers={"Content-Type": "application/json"})

    assert (response.status_code, response.json()["name"]) == (201, "in pieces")


def test_a_body_over_the_limit_is_413_announced_or_not(web: httpx.Client, dialled: Any) -> None:
    announced = dialled()
    announced.sendall(head(web, "PUT /channel/big HTTP/1.1", "Content-Length: 2000000"))
    assert answer(announced).status == 413

    large = (b" " * 65536 for _ in range(32))
    assert web.put("/channel/big", content=large).status_code == 413


def test_a_target_or_headers_over_the_limit_are_refused(web: httpx.Client) -> None:
    assert web.get("/channels?x=" + "a" * 9000).status_code == 414
    refused = web.get("/channels", headers={"X-Long": "a" * 40000})
    assert (refused.status_code, refused.json()["code"]) == (431, "headers_too_large")


def test_a_header_that_never_ends_is_cut_off(web: httpx.Client, dialled: Any) -> None:
    connection = dialled()
    connection.sendall(b"GET / HTTP/1.1\r\nHost: broker\r\nX-Endless: ")
    received = b""
    while not received:
        try:
            connection.sendall(b"a" * 65536)
            connection.settimeout(0.05)
            received = connection.recv(1000)
        except TimeoutError:
            connection.settimeout(20)
    assert received.startswith(b"HTTP/1.1 431 ")
    assert b"application/problem+json" in received


def test_what_is_no_http_is_400(dialled: Any) -> None:
    connection = dialled()
    connection.sendall(b"\x16\x03\x01 hello\r\n\r\n")

    assert answer(connection).status == 400


def test_the_request_id_comes_back_or_is_made(web: httpx.Client) -> None:
    assert web.get("/channels", headers={"X-Request-ID": "mine-1"}).headers["X-Request-ID"] == "mine-1"
    assert web.get("/nowhere", headers={"X-Request-ID": "no good"}).headers["X-Request-ID"] != "no good"
    assert len(web.get("/healthz").headers["X-Request-ID"]) == 32


def test_a_header_with_an_underscore_is_not_taken_for_one_with_a_dash(web: httpx.Client) -> None:
    web.put("/channel/underscore", json={"token": "open"})
    spoofed = {"X_Broker_Channel_Token": "open", "Authorization": ""}

    assert httpx.get(f"{web.base_url}/channel/underscore", headers=spoofed).status_code == 401


def test_no_secret_is_in_the_log(web: httpx.Client, broker: Broker) -> None:
    key = web.headers["Authorization"].removeprefix("Bearer ")
    web.put("/channel/quiet", json={"token": "tok-in-a-body"})
    web.get("/channel/quiet", headers={"X-Broker-Channel-Token": "tok-in-a-header"})
    web.get("/nowhere?token=tok-in-a-query")

    wait_until(lambda: "path=/nowhere" in broker.logs(), 10)
    assert not [text for text in (key, "tok-in-a-body", "tok-in-a-header", "tok-in-a-query") if text in broker.logs()]


def test_health_tells_what_is_away(web: httpx.Client) -> None:
    assert web.get("/healthz").json() == {"status": "alive"}
    ready = web.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "degraded")
    assert (ready.json()["checks"]["database"], ready.json()["checks"]["redis"]) == ("ok", "failing")
    assert web.get("/readyz?strict").status_code == 503
    post = web.post("/healthz")
    assert (post.status_code, post.headers["Allow"]) == (405, "GET, HEAD")


def test_without_a_database_the_answer_is_503_with_a_time_to_come_back(broker: Broker) -> None:
    web = broker.serve(DATABASE_URL=f"{broker.database_url}_gone")

    refused = web.get("/channels")

    assert (refused.status_code, refused.json()["code"]) == (503, "storage_away")
    assert int(refused.headers["Retry-After"]) > 0
    assert web.get("/readyz").status_code == 503
    assert web.get("/healthz").status_code == 200
    page = web.get("/admin/", headers={"Cookie": f"sessionid={'x' * 32}"})
    assert (page.status_code, "Retry-After" in page.headers) == (503, True)


def test_several_processes_that_prepare_one_database_take_turns(broker: Broker) -> None:
    with scratch_database() as url:
        one = Broker(url, broker.data_dir, {**broker.environment, "DATABASE_URL": url})
        with ThreadPoolExecutor(3) as pool:
            told = [json.loads(line) for line in pool.map(lambda _: one.manage("prepare"), range(3))]

    assert sorted(each["first_run"] for each in told) == [False, False, True]


def test_a_gateways_signature_is_asked_for_where_a_secret_is_set(broker: Broker) -> None:
    web = broker.serve(GATEWAY_SECRETS="old-secret,new-secret")

    assert web.get("/healthz").status_code == 200
    assert web.get("/channels").json()["code"] == "signature_missing"
    wrong = web.get("/channels", headers={"X-Broker-Signature": f"t={int(time.time())},v1={'0' * 64}"})
    assert (wrong.status_code, wrong.json()["code"]) == (403, "signature_refused")
