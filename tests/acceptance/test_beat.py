"""A beat that is asked to stop within a query."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from tests.acceptance.engine import CELERY
from tests.acceptance.servers import START_SECONDS, Broker, broker, wait_until
from tests.channels_app.locks import SOMEBODY_WAITS

__all__ = ["broker"]


def start(broker: Broker) -> "subprocess.Popen[bytes]":
    return broker.start(*CELERY, "beat", "--loglevel", "WARNING", "--pidfile=")


@contextmanager
def locked(broker: Broker, table: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(broker.database_url) as connection:
        connection.execute(f"LOCK TABLE {table}")
        yield connection


def wait_until_it_waits(connection: psycopg.Connection) -> None:
    wait_until(lambda: connection.execute(SOMEBODY_WAITS).fetchone() is not None, START_SECONDS)


def test_it_ends_while_it_starts(broker: Broker) -> None:
    with locked(broker, "django_celery_beat_periodictask") as connection:
        beat = start(broker)
        wait_until_it_waits(connection)
        beat.terminate()
        assert beat.wait(20) == 0


def test_it_ends_at_work_and_keeps_what_it_has_done(broker: Broker) -> None:
    beat = start(broker)
    with psycopg.connect(broker.database_url, autocommit=True) as connection:
        wait_until(lambda: connection.execute("SELECT FROM progress WHERE name = 'beat'").rowcount == 1, START_SECONDS)
    with locked(broker, "progress") as connection:
        wait_until_it_waits(connection)
        beat.terminate()
        assert beat.wait(20) == 0
        ran = "SELECT FROM django_celery_beat_periodictask WHERE total_run_count > 0"
        assert connection.execute(ran).rowcount > 0
    assert "Traceback" not in broker.logs()
