"""A snapshot that several readers share, held for a moment only.

Spark is slow to start its readers, and a transaction must not wait for it. So the readers come first: each connects
and says by its application_name that it is there. When all are, the snapshot is taken and named the same way, they
take it, say so, and it is let go.
"""

import secrets
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg

# A reader that has not got it by then fails, and its slice with it.
HELD_SECONDS = 8.0
_LOOK_SECONDS = 0.02
_NAMED = "SELECT application_name FROM pg_stat_activity WHERE application_name = ANY(%s)"


def waiting(label: str, number: int) -> str:
    return f"{label}?{number}"


def served(label: str, number: int) -> str:
    return f"{label}!{number}"


def offered(label: str, snapshot: str) -> str:
    return f"{label}={snapshot}"


@contextmanager
def shared(url: str, *, readers: int) -> Iterator[str]:
    """The label that the readers are told; what they read is of the moment when the last of them came."""
    label = f"lake-{secrets.token_hex(8)}"
    done = threading.Event()
    # Connected first: if that fails, no reader waits for what will not come.
    with psycopg.connect(url, autocommit=True) as connection, ThreadPoolExecutor(1) as pool:
        held = pool.submit(_hold, connection, label, readers, done)
        try:
            yield label
        finally:
            done.set()
            # If it failed, that is why readers did.
            held.result()


def _hold(connection: psycopg.Connection, label: str, readers: int, done: threading.Event) -> None:
    if not _all_wait(connection, {waiting(label, number) for number in range(readers)}, done):
        return
    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    [snapshot] = connection.execute("SELECT pg_export_snapshot()").fetchone() or ("",)
    connection.execute("SELECT set_config('application_name', %s, false)", [offered(label, snapshot)])
    _serve(connection, {served(label, number) for number in range(readers)}, done)
    connection.execute("COMMIT")


def _all_wait(connection: psycopg.Connection, names: set[str], done: threading.Event) -> bool:
    """All at once: one that gave up, and will be tried again, is not there. False if it was over before."""
    while not done.is_set():
        if _seen(connection, names) == names:
            return True
        time.sleep(_LOOK_SECONDS)
    return False


def _serve(connection: psycopg.Connection, names: set[str], done: threading.Event) -> None:
    """One that was seen counts, as its reader may be gone again."""
    until = time.monotonic() + HELD_SECONDS
    while names and not done.is_set() and time.monotonic() < until:
        names -= _seen(connection, names)
        time.sleep(_LOOK_SECONDS)


def _seen(connection: psycopg.Connection, names: set[str]) -> set[str]:
    # Within a transaction, what is going on is remembered.
    connection.execute("SELECT pg_stat_clear_snapshot()")
    return {name for (name,) in connection.execute(_NAMED, [list(names)])}
