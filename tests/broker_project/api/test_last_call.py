"""The kernel's own part in letting somebody in, on real sockets."""

import select
import socket
import sys
from collections.abc import Iterator

import pytest

from broker_project.api import last_call

SECONDS = 30.0
# <asm-generic/socket.h>: from then on the kernel refuses filters on this socket.
SO_LOCK_FILTER = 44

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such a filter")


@pytest.fixture(params=[(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")], ids=["IPv4", "IPv6"])
def listener(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    family, host = request.param
    with socket.create_server((host, 0), family=family) as made:
        yield made


def _call(listener: socket.socket) -> socket.socket:
    made = socket.socket(listener.family)
    made.setblocking(False)
    made.connect_ex(listener.getsockname())
    return made


def _is_through(caller: socket.socket, seconds: float) -> bool:
    """The handshake came to an end, whichever."""
    return bool(select.select([], [caller], [], seconds)[1])


def _refusal(caller: socket.socket) -> int:
    return caller.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)


def test_who_comes_too_late_is_refused_and_has_sent_nothing(listener: socket.socket) -> None:
    last_call.turn_away(listener)
    with _call(listener) as late:
        assert not _is_through(late, 0.1)
        assert last_call.accept_all(listener) == []
        listener.close()
        assert _is_through(late, SECONDS)
        assert _refusal(late) != 0


def test_who_was_let_in_is_heard_and_answered(listener: socket.socket) -> None:
    with _call(listener) as early:
        assert _is_through(early, SECONDS)
        assert _refusal(early) == 0
        last_call.turn_away(listener)
        [let_in] = last_call.accept_all(listener)
        listener.close()
        early.sendall(b"a request")
        with let_in:
            let_in.setblocking(True)
            assert let_in.recv(100) == b"a request"
            let_in.sendall(b"an answer")
        early.setblocking(True)
        assert early.recv(100) == b"an answer"


def test_without_a_filter_the_listener_goes_on_as_it_was(listener: socket.socket) -> None:
    listener.setsockopt(socket.SOL_SOCKET, SO_LOCK_FILTER, 1)
    last_call.turn_away(listener)
    with _call(listener) as caller:
        assert _is_through(caller, SECONDS)
        assert _refusal(caller) == 0
