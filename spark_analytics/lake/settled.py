"""Waits until nothing is on its way that a snapshot taken afterwards would not see.

Who writes a row holds a lock on its table from before it draws an id or reads the watermark until it has ended. So
whoever is not seen to hold one after the watermark was raised has either ended, or sees the new watermark. (Writers
are READ COMMITTED, as all of the broker's are: the trigger looks with a snapshot of its own.)
"""

import time

import psycopg
from psycopg import Connection

from spark_analytics.errors import ReportError
from spark_analytics.tables import TABLES

WAIT_SECONDS = 60.0
_LOOK_SECONDS = 0.05
# A message's id is drawn for its key first.
_RELATIONS = [*(table.relation for table in TABLES), "message_key"]
_WRITERS = """
SELECT virtualtransaction FROM pg_locks WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' AND granted
AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND relation = ANY(%s::regclass[])
"""
_BEHIND = "SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() < %s::pg_lsn"


class StillWriting(ReportError):
    """A transaction that writes to the broker's tables has not ended; the export gave up waiting for it."""


class NoReplica(ReportError):
    """The database of ANALYTICS_DATABASE_URL does not answer:"""


class ReplicaBehind(ReportError):
    """The replica of ANALYTICS_DATABASE_URL is too far behind to read from; gave up waiting for it."""


def wait_for_writers(connection: Connection) -> None:
    until = time.monotonic() + WAIT_SECONDS
    waited = _writers(connection)
    while waited:
        if time.monotonic() > until:
            raise StillWriting
        time.sleep(_LOOK_SECONDS)
        waited &= _writers(connection)


def _writers(connection: Connection) -> set[str]:
    return {name for (name,) in connection.execute(_WRITERS, [_RELATIONS])}


def wait_for_replica(connection: Connection, reads_url: str) -> None:
    """Nothing to wait for where rows are read from the database itself."""
    # What a commit that does not wait for the disk has said, but not yet written, counts.
    row = connection.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()
    until = time.monotonic() + WAIT_SECONDS
    with _replica(reads_url) as replica:
        while replica.execute(_BEHIND, row).fetchone() == (True,):
            if time.monotonic() > until:
                raise ReplicaBehind
            time.sleep(_LOOK_SECONDS)


def _replica(url: str) -> Connection:
    try:
        return psycopg.connect(url, autocommit=True)
    except psycopg.OperationalError as error:
        raise NoReplica(f"{NoReplica.__doc__} {str(error).splitlines()[0]}") from error
