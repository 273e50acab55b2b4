"""The web process is about to stop: who makes clients wait lets them go, so that it can."""

from collections.abc import Callable

_to_call: list[Callable[[], None]] = []


def at_end(callback: Callable[[], None]) -> None:
    """Called when the server begins to stop, once or several times."""
    _to_call.append(callback)


def end() -> None:
    for callback in _to_call:
        callback()
