"""One at a time across all processes: a session's advisory lock on Django's connection."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import InterfaceError, OperationalError

from broker_project.lib.bound import fetch

PAUSE_SECONDS = 0.02


@contextmanager
def only_one(key: int, *, patience_seconds: float) -> Iterator[bool]:
    """Says whether it is ours. A lost connection gives it back, too."""
    deadline = time.monotonic() + patience_seconds
    while not (is_ours := fetch("SELECT pg_try_advisory_lock(%s::bigint)", [key])[0][0]):
        if time.monotonic() > deadline:
            break
        time.sleep(PAUSE_SECONDS)
    try:
        yield is_ours
    finally:
        if is_ours:
            _give_back(key)


def _give_back(key: int) -> None:
    try:
        fetch("SELECT pg_advisory_unlock(%s::bigint)", [key])
    except (OperationalError, InterfaceError):
        # The connection is lost, and the lock with it.
        return
