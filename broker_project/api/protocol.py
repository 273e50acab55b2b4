"""uvicorn's HTTP protocol with limits on how much and how long a client may send before its request is whole.

The parser itself has none: one endless header, or a body that drips, would be kept for ever. A request that arrives in
one piece costs no timer, and one that has a short way (express.py) no task.
"""

from asyncio import Future, TimerHandle, Transport
from enum import Enum, auto
from functools import partial

from django.conf import settings
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from broker_project.api import express, problems
from broker_project.api.head import check_head
from broker_project.lib.errors import BrokerError
from broker_project.lib.ids import new_id

HEAD_BYTES = 128 * 1024
HEAD_SECONDS = 30.0

_REFUSAL = (
    b"HTTP/1.1 %d Refused\r\ncontent-type: %s\r\ncontent-length: %d\r\nx-request-id: %s\r\nconnection: close\r\n\r\n%s"
)


class HeadTimeout(BrokerError):
    """The request's headers did not arrive in time."""

    status = 408


class BodyTimeout(BrokerError):
    """The body did not arrive in time. Nothing was stored."""

    status = 408


class HeadTooLarge(BrokerError):
    """The request's headers do not end."""

    status = 431


class Phase(Enum):
    """What of a request is on its way."""

    NOTHING = auto()
    HEAD = auto()
    BODY = auto()


class GuardedProtocol(HttpToolsProtocol):
    """Counts the bytes of the request's head, and times both its parts."""

    # A connection that says nothing is timed like a head.
    _phase = Phase.HEAD
    _timed: Phase | None = None
    _head_bytes = 0
    _timer: TimerHandle | None = None
    # A request whose body is awaited, to be answered the short way.
    _short: RequestResponseCycle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._time(Phase.HEAD)

    def connection_lost(self, exc: Exception | None) -> None:
        self._time(Phase.NOTHING)
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._phase = Phase.HEAD
        self._head_bytes = 0

    def on_headers_complete(self) -> None:
        self._phase = Phase.BODY
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._phase = Phase.NOTHING
        super().on_message_complete()
        if self._short is not None and self._short is self.cycle:
            self._go_short(self._short)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        if not self._may_go_short(cycle):
            super()._start_asgi_task(cycle, app)
        elif cycle.more_body:
            self._short = cycle
        else:
            self._go_short(cycle)

    def _may_go_short(self, cycle: RequestResponseCycle) -> bool:
        """A short body, a head within the limits, and a client that reads its answers one by one."""
        if not express.is_open() or cycle.scope["method"] != "POST" or self.pipeline or self.flow.write_paused:
            return False
        try:
            check_head(cycle.scope)  # type: ignore[arg-type]
        except BrokerError:
            return False
        return express.is_short(cycle.scope["headers"])

    def _go_short(self, cycle: RequestResponseCycle) -> None:
        self._short = None
        pending = express.begin(cycle.scope["path"], cycle.scope["headers"], bytes(cycle.body))
        if pending is None:
            super()._start_asgi_task(cycle, self.app)
        else:
            pending.done.add_done_callback(partial(self._end_short, cycle, pending.location))

    def _end_short(self, cycle: RequestResponseCycle, location: bytes, done: Future[bool]) -> None:
        if done.cancelled():
            return
        error, headers, defaults = done.exception(), cycle.scope["headers"], self.server_state.default_headers
        if self.transport.is_closing():
            return
        if error is not None:
            # Never stored again by itself: it may have been stored.
            self._answer(cycle, express.refused(error, cycle.scope, defaults))
        elif done.result():
            self._answer(cycle, express.created(location, headers, defaults))
        else:
            super()._start_asgi_task(cycle, self.app)

    def _answer(self, cycle: RequestResponseCycle, answer: bytes) -> None:
        cycle.response_started = cycle.response_complete = True
        self.transport.write(answer)
        if not cycle.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def data_received(self, data: bytes) -> None:
        if self._phase is Phase.HEAD:
            # What came before this piece: the piece itself may carry the rest of the head and a body.
            if self._head_bytes > HEAD_BYTES:
                self._refuse(HeadTooLarge())
                return
            self._head_bytes += len(data)
        super().data_received(data)
        if self._phase is not self._timed:
            self._time(self._phase)

    def _time(self, phase: Phase) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timed = phase
        if phase is Phase.HEAD:
            self._timer = self.loop.call_later(HEAD_SECONDS, self._too_late, HeadTimeout)
        elif phase is Phase.BODY:
            self._timer = self.loop.call_later(settings.BODY_TIMEOUT_SECONDS, self._too_late, BodyTimeout)

    def _too_late(self, error: type[BrokerError]) -> None:
        self._refuse(error())

    def _refuse(self, error: BrokerError) -> None:
        """Answers and hangs up; in the middle of an answer, or with an earlier request in work, it only hangs up."""
        self._time(Phase.NOTHING)
        if self.transport.is_closing():
            return
        if not self.pipeline and self._is_silent():
            body = problems.encode(error.status, error.code, error.detail)
            kind, request_id = problems.CONTENT_TYPE.encode(), new_id().encode()
            self.transport.write(_REFUSAL % (error.status, kind, len(body), request_id, body))
        self.transport.close()

    def _is_silent(self) -> bool:
        """Nothing of an answer is under way. Of a request whose body is half there none can be."""
        # None until the first request, whatever its type says.
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete:
            return True
        return self._phase is Phase.BODY and not cycle.response_started
