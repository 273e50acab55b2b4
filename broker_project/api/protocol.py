"""uvicorn's HTTP protocol with a limit on what a client may send before its headers are complete.

The parser itself has none: one endless header, or one that never ends, would be kept in memory.
"""

from asyncio import TimerHandle, Transport

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from broker_project.api import problems
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


class HeadTooLarge(BrokerError):
    """The request's headers do not end."""

    status = 431


class GuardedProtocol(HttpToolsProtocol):
    """Counts and times the request's head; a request under way is left to the frame."""

    _in_head = True
    _head_bytes = 0
    _head_timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._refuse, HeadTimeout())

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self._head_bytes = 0
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._refuse, HeadTimeout())

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_timer()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            # What came before this piece: the piece itself may carry the rest of the head and a body.
            if self._head_bytes > HEAD_BYTES:
                self._refuse(HeadTooLarge())
                return
            self._head_bytes += len(data)
        super().data_received(data)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _refuse(self, error: BrokerError) -> None:
        """Answers and hangs up; in the middle of an answer to an earlier request it only hangs up."""
        self._stop_timer()
        if self.transport.is_closing():
            return
        # None until the first request, whatever its type says.
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete:
            body = problems.encode(error.status, error.code, error.detail)
            kind, request_id = problems.CONTENT_TYPE.encode(), new_id().encode()
            self.transport.write(_REFUSAL % (error.status, kind, len(body), request_id, body))
        self.transport.close()
