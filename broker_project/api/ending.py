"""The web process is about to stop: who makes clients wait lets them go, and every answer is a connection's last."""

from collections.abc import Callable
from threading import Event

CLOSE = (b"connection", b"close")

_to_call: list[Callable[[], None]] = []
_begun = Event()


def at_end(callback: Callable[[], None]) -> None:
    """Called when the server begins to stop, once or several times."""
    _to_call.append(callback)


def end() -> None:
    _begun.set()
    for callback in _to_call:
        callback()


def has_begun() -> bool:
    return _begun.is_set()
