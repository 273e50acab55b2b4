"""Servers behind a proxy that only say who they are and what they were sent."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class Handler(BaseHTTPRequestHandler):
    """Tells what it was sent."""

    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        told = {"by": self.server.name, "path": self.path, "headers": self.headers.items()}  # type: ignore[attr-defined]
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Strict-Transport-Security", "max-age=1")
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = _answer

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def telling(*names: str) -> Iterator[dict[str, list[int]]]:
    """Yields their ports by name."""
    servers = {name: ThreadingHTTPServer(("127.0.0.1", 0), Handler) for name in names}
    for name, server in servers.items():
        server.name = name  # type: ignore[attr-defined]
        Thread(target=server.serve_forever, daemon=True).start()
    yield {name: [server.server_port] for name, server in servers.items()}
    for server in servers.values():
        server.shutdown()
        server.server_close()
