"""A consumer's end: a real HTTP server that remembers what it got and answers as it is told."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Delivery:
    at: float
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def message_id(self) -> str:
        return self.headers["x-broker-message-id"]


@dataclass
class Receiver:
    url: str = ""
    deliveries: list[Delivery] = field(default_factory=list)
    answer: Callable[[Delivery], int] = lambda _delivery: 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"heard"

    def of(self, message_id: str) -> list[Delivery]:
        return [delivery for delivery in list(self.deliveries) if delivery.message_id == message_id]


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            named = {name.lower(): value for name, value in self.headers.items()}
            delivery = Delivery(time.time(), self.path, named, body)
            receiver.deliveries.append(delivery)
            self.send_response(receiver.answer(delivery))
            for name, value in {**receiver.headers, "Content-Length": str(len(receiver.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            # A long answer is not heard to its end.
            with suppress(ConnectionError):
                self.wfile.write(receiver.body)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
