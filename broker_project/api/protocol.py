"""uvicorn's HTTP protocol with limits on how much and how long a client may send before its request is whole.

The parser itself has none: one endless header, or a body that drips, would be kept for ever. A request that arrives in
one piece costs no timer, and one that has a short way (express.py) neither parser nor task.
"""

from asyncio import Future, TimerHandle, Transport
from enum import Enum, auto
from functools import partial

from django.conf import settings
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from broker_project.api import ending, express, problems
from broker_project.api.express import Pending, Plain
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
    # A request under way on the short way, what came after it, and whether the server stops after it.
    _short: bytes | None = None
    _after = b""
    _is_last = False

    def data_received(self, data: bytes) -> None:
        if self._short is not None:
            self._after += data
            self.flow.pause_reading()
        elif not (self._is_at_rest() and self._goes_short(data)):
            self._go_long(data)

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

    def _is_at_rest(self) -> bool:
        """Nothing of a request is here, and every answer is out of the house."""
        # None until the parser has had something, whatever its type says.
        headers: list[tuple[bytes, bytes]] | None = self.headers
        is_between = headers is None or (self._phase is Phase.NOTHING and self.cycle.response_complete)
        return is_between and not self.flow.write_paused

    def _goes_short(self, data: bytes) -> bool:
        request = express.read(data)
        pending = express.begin(request) if request is not None else None
        if request is None or pending is None:
            return False
        self._short = data
        self._phase = Phase.NOTHING
        if self._timed is not Phase.NOTHING:
            self._time(Phase.NOTHING)
        self._unset_keepalive_if_required()
        pending.done.add_done_callback(partial(self._end_short, request, pending))
        return True

    def _end_short(self, request: Plain, pending: Pending, done: Future[bool]) -> None:
        if done.cancelled() or self.transport.is_closing():
            return
        data, after, self._short, self._after = self._short or b"", self._after, None, b""
        error, defaults = done.exception(), self.server_state.default_headers
        if error is None and not done.result():
            self._go_long(data + after)
            after = b""
        else:
            # Never stored again by itself: it may have been stored.
            answer = (
                express.refused(error, request, pending, defaults)
                if error
                else express.accepted(request, pending, defaults)
            )
            self.transport.write(answer)
            if ending.CLOSE in defaults:
                self.transport.close()
            self.on_response_complete()
        if self._is_last:
            super().shutdown()
        elif after and not self.transport.is_closing():
            self.data_received(after)

    def shutdown(self) -> None:
        ending.end()
        self._is_last = True
        if self._short is None:
            super().shutdown()

    def _go_long(self, data: bytes) -> None:
        if self._phase is Phase.HEAD:
            # What came before this piece: the piece itself may carry the rest of the head and a body.
            if self._head_bytes > HEAD_BYTES:
                self._refuse(HeadTooLarge())
                return
            self._head_bytes += len(data)
        super().data_received(data)
        if self._phase is not self._timed:
            self._time(self._phase)
        elif self._phase is Phase.NOTHING and self._is_at_rest() and self.timeout_keep_alive_task is None:
            # Empty lines between requests are nobody's, and must not keep a connection for ever.
            self._time(Phase.HEAD)

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
