"""Who waits for what this connection has locked."""

from django.db import connection

# Not by pg_stat_activity: a transaction sees there only who was connected when it first looked.
SOMEBODY_WAITS = "SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"


def somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(SOMEBODY_WAITS)
        return cursor.fetchone() is not None
