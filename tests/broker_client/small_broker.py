"""The doors of the contract in memory, on a real socket: told to misbehave at will, and remembering what was heard."""

import json
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Heard:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def verb(self) -> str:
        return self.path.rpartition("/")[2]

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Said:
    status: int
    document: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Mishap:
    """For one request: another answer, or none; `done` if what it asks for is done all the same."""

    answer: Said | None = None
    done: bool = False


LOST = Mishap(done=True)
DROPPED = Mishap()


def busy(status: int = 503, retry_after: str = "0") -> Mishap:
    return Mishap(Said(status, {"code": "busy"}, {"Retry-After": retry_after}))


@dataclass
class SmallJob:
    id: str
    message: dict[str, Any]
    status: str = "QUEUED"
    attempt: int = 0
    lease_until: float = 0.0
    failures: int = 0
    history: list[str] = field(default_factory=list)

    def shown(self) -> dict[str, Any]:
        return {"id": self.id, "attempt": self.attempt, "priority": 0, "message": self.message}


@dataclass
class SmallBroker:
    url: str = ""
    heard: list[Heard] = field(default_factory=list)
    mishaps: deque[Mishap] = field(default_factory=deque)
    messages: dict[str, bytes] = field(default_factory=dict)
    jobs: dict[str, SmallJob] = field(default_factory=dict)
    registered: dict[str, Any] = field(default_factory=dict)
    loses_results: bool = False
    changed: threading.Condition = field(default_factory=threading.Condition)

    def of(self, verb: str) -> list[Heard]:
        return [heard for heard in list(self.heard) if heard.verb == verb]

    def acks(self) -> list[tuple[str, str]]:
        """(job, status) in the order in which they came."""
        return [(ack["jobId"], ack["status"]) for heard in self.of("acks") for ack in heard.json()]

    def put_jobs(self, *payloads: str) -> list[SmallJob]:
        made = []
        with self.changed:
            for payload in payloads:
                number = str(len(self.jobs) + 1)
                message = {"messageId": f"m{number}", "payload": payload, "contentType": "text/plain", "headers": {}}
                self.jobs[number] = SmallJob(number, message)
                made.append(self.jobs[number])
            self.changed.notify_all()
        return made

    def answer(self, heard: Heard) -> Said | None:
        self.heard.append(heard)
        mishap = self.mishaps.popleft() if self.mishaps else None
        if mishap is None or mishap.done:
            said = self._do(heard)
        return said if mishap is None else mishap.answer

    def _do(self, heard: Heard) -> Said:
        doors = {
            "broadcast": self._broadcast,
            "batch": self._batch,
            "lease": self._lease,
            "acks": self._acks,
            "extend": self._extend,
        }
        if heard.method == "PUT":
            return self._register(heard)
        if "/job/" in heard.path:
            return self._move(heard)
        door = doors.get(heard.verb)
        return door(heard) if door else Said(404, {"code": "unknown", "detail": "There is nothing here."})

    def _broadcast(self, heard: Heard) -> Said:
        message_id = heard.headers["x-broker-message-id"]
        place = heard.path.removesuffix("broadcast") + f"message/{message_id}"
        if message_id in self.messages:
            same = self.messages[message_id] == heard.body
            return Said(409, {"code": "duplicate_message", "samePayload": same}, {"Location": place})
        self.messages[message_id] = heard.body
        return Said(201, headers={"Location": place})

    def _batch(self, heard: Heard) -> Said:
        items = [json.loads(line) for line in heard.body.splitlines()]
        bodies = {item["messageId"]: json.dumps(item).encode() for item in items}
        if used := [name for name in bodies if name in self.messages]:
            same = len(used) == len(items) and all(self.messages[name] == bodies[name] for name in used)
            return Said(409, {"code": "duplicate_messages", "samePayload": same})
        self.messages |= bodies
        place = heard.path.removesuffix("broadcast/batch")
        return Said(201, {"result": [f"{place}message/{name}" for name in bodies]})

    def _register(self, heard: Heard) -> Said:
        is_there = heard.path in self.registered
        if is_there == (heard.headers.get("if-none-match") == "*"):
            return Said(412, {"code": "already_exists"})
        self.registered[heard.path] = {**self.registered.get(heard.path, {}), **heard.json()}
        shown = {"id": heard.verb, "name": "", "changedAt": "2026-01-01T00:00:00Z", **self.registered[heard.path]}
        return Said(200 if is_there else 201, shown)

    def _lease(self, heard: Heard) -> Said:
        asked = heard.json()
        deadline = time.monotonic() + asked["waitSeconds"]
        with self.changed:
            while not (ready := self._ready()) and time.monotonic() < deadline:
                self.changed.wait(min(0.05, max(0.0, deadline - time.monotonic())))
            for job in ready[: asked["limit"]]:
                job.status, job.attempt = "INFLIGHT", job.attempt + 1
                job.lease_until = time.monotonic() + asked["leaseSeconds"]
            return Said(200, {"result": [job.shown() for job in ready[: asked["limit"]]]})

    def _ready(self) -> list[SmallJob]:
        """Those whose lease has ended are failed attempts, and wait again."""
        for job in self.jobs.values():
            if job.status == "INFLIGHT" and job.lease_until < time.monotonic():
                job.status, job.failures = "QUEUED", job.failures + 1
                job.history.append("ack_timeout")
        return [job for job in self.jobs.values() if job.status == "QUEUED"]

    def _acks(self, heard: Heard) -> Said:
        with self.changed:
            results = [{"jobId": ack["jobId"], "result": self._ack(ack)} for ack in heard.json()]
        return Said(200, {"result": [] if self.loses_results else results})

    def _ack(self, ack: dict[str, Any]) -> str:
        job = self.jobs.get(ack["jobId"])
        if job is None:
            return "unknown"
        if (job.status, job.attempt) != ("INFLIGHT", ack["attempt"]):
            return "duplicate" if ack["status"] in job.history and job.attempt == ack["attempt"] else "stale"
        job.history.append(ack["status"])
        if ack["status"] == "COMPLETE":
            job.status = "DELIVERED"
        if ack["status"] == "FAILED":
            job.status, job.failures = "WAITING", job.failures + 1
        return "applied"

    def _extend(self, heard: Heard) -> Said:
        results = []
        with self.changed:
            for item in heard.json():
                job = self.jobs[item["jobId"]]
                is_held = (job.status, job.attempt) == ("INFLIGHT", item["attempt"])
                if is_held:
                    job.lease_until = time.monotonic() + item["leaseSeconds"]
                results.append({"jobId": job.id, "result": "applied" if is_held else "stale"})
        return Said(200, {"result": results})

    def _move(self, heard: Heard) -> Said:
        move, job = heard.json(), self.jobs[heard.verb]
        with self.changed:
            if move["attempt"] != job.attempt:
                return Said(409, {"code": "stale_attempt"})
            if job.status != "INFLIGHT":
                return Said(400, {"code": "transition_not_allowed"})
            job.status = move["nextState"]
            job.history.append(move["nextState"])
            self.changed.notify_all()
            return Said(202, {"attempt": job.attempt, "leaseUntil": None, "deviceId": None})


@contextmanager
def small_broker() -> Iterator[SmallBroker]:
    broker = SmallBroker()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            said = broker.answer(Heard(self.command, urlsplit(self.path).path, headers, body))
            if said is None:
                self.close_connection = True
                return
            content = b"" if said.document is None else json.dumps(said.document).encode()
            self.send_response(said.status)
            for name, value in {**said.headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that went away before its answer is part of the tests."""

    server = Server(("127.0.0.1", 0), Handler)
    broker.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield broker
    finally:
        server.shutdown()
        server.server_close()
