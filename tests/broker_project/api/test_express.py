"""What is plain enough to be read without the parser; everything else is left to it."""

import pytest

from broker_project.api import express
from broker_project.api.express import Pending, Plain, read

BODY = b"hello"
LINES = [b"Host: broker", b"X-Broker-Producer-ID:  shop \t", b"Content-Length: 5"]


@pytest.fixture(autouse=True)
def short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(_request: Plain) -> Pending | None:
        return None

    monkeypatch.setattr(express, "_addresses", [nobody])


def request(*lines: bytes, first: bytes = b"POST /channel/orders/broadcast HTTP/1.1", body: bytes = BODY) -> bytes:
    return b"\r\n".join([first, *lines, b"", b""]) + body


def test_a_whole_request_is_read() -> None:
    found = read(request(*LINES, b"Connection: Keep-Alive"))

    assert found is not None
    assert (found.path, found.body) == ("/channel/orders/broadcast", BODY)
    assert found.headers[1] == (b"x-broker-producer-id", b"shop")


@pytest.mark.parametrize(
    "data",
    [
        request(*LINES, first=b"GET /channel/orders/broadcast HTTP/1.1"),
        request(*LINES, first=b"POST /channel/orders/broadcast HTTP/1.0"),
        request(*LINES, first=b"POST /channel/orders/broadcast?a=1 HTTP/1.1"),
        request(*LINES, first=b"POST /channel/or%64ers/broadcast HTTP/1.1"),
        request(*LINES, first=b"POST http://broker/channel/orders/broadcast HTTP/1.1"),
        request(*LINES, body=BODY[:-1]),
        request(*LINES, body=BODY + b"x"),
        request(*LINES[:2]),
        request(*LINES, LINES[2]),
        request(*LINES[:2], b"Content-Length: +5"),
        request(*LINES[:2], b"Content-Length: 05"),
        request(*LINES, b"Transfer-Encoding: chunked"),
        request(*LINES, b"Expect: 100-continue"),
        request(*LINES, b"Connection: close"),
        request(*LINES, b"Upgrade: h2c"),
        request(*LINES, b" folded"),
        request(*LINES, b"Space before : colon"),
        request(*LINES, b"No colon"),
        request(*LINES, b"X-Zero: \0"),
        request(*LINES, b"X-Long: " + b"x" * express.MAX_HEAD_BYTES),
        request(*LINES).replace(b"\r\n", b"\n"),
        request(*LINES, b"X-Bare: a\nTransfer-Encoding: chunked"),
        request(*LINES, b"X-Bare: a\rTransfer-Encoding: chunked"),
        request(*LINES[:2], b"Content-Length: %d" % express.MAX_BYTES, body=b"x" * express.MAX_BYTES),
        b"\r\n" + request(*LINES),
        request(*LINES)[:40],
        b"",
    ],
)
def test_whatever_is_not_plain_is_left_to_the_parser(data: bytes) -> None:
    assert read(data) is None
