"""Exports beside the test: in a thread, in a process; and what the database says of them."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg

from spark_analytics.lake import plan
from spark_analytics.lake.export import Exported
from spark_analytics.settings import Settings

Export = Callable[..., list[Exported]]
EXPORT = """
import sys
from spark_analytics.lake import plan
from spark_analytics.lake.__main__ import main
plan.SLICE_IDS = int(sys.argv[1])
sys.exit(main(["export", "--all"]))
"""


def wait_until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 300
    while not true():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.05)


@contextmanager
def in_background(bring: Export) -> Iterator[threading.Thread]:
    running = threading.Thread(target=bring)
    running.start()
    try:
        yield running
    finally:
        running.join()


def export_in_a_child(lake: Settings, *, slice_ids: int = plan.SLICE_IDS) -> subprocess.Popen[bytes]:
    told = {"DATABASE_URL": lake.database_url, "LAKE_URL": lake.lake_url}
    return subprocess.Popen([sys.executable, "-c", EXPORT, str(slice_ids)], env=os.environ | told)


def waiting(lake: Settings) -> list[int]:
    """Who waits to write into the manifest."""
    asked = "SELECT pid FROM pg_locks WHERE relation = 'lake_slice'::regclass AND NOT granted"
    with psycopg.connect(lake.database_url) as connection:
        return [pid for (pid,) in connection.execute(asked)]


def lock_is_held(lake: Settings) -> bool:
    asked = """SELECT 1 FROM pg_locks AS held JOIN pg_database ON pg_database.oid = held.database
    WHERE held.locktype = 'advisory' AND datname = current_database()"""
    with psycopg.connect(lake.database_url) as connection:
        return bool(connection.execute(asked).fetchone())
