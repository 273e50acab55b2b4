"""What goes by age alone: operations that have ended, the admin's log, alerts that are over, ids of what was pruned.

The oldest first, a batch in a statement; where a number of days is 0, they are kept.
"""

from collections import Counter

from django.conf import settings
from django.db import connection

MOST = 1_000

# Numbered in the order of their time: the first ones are the oldest. Of these, those that have ended.
_OPERATIONS = """
WITH first AS MATERIALIZED (
    SELECT id, finished_at FROM operation ORDER BY id LIMIT %(most)s
), held AS MATERIALIZED (
    SELECT o.id FROM first JOIN operation o ON o.id = first.id
    WHERE first.finished_at < now() - make_interval(days => %(days)s::int) AND o.finished_at IS NOT NULL
    ORDER BY o.id FOR UPDATE OF o SKIP LOCKED
)
DELETE FROM operation o USING held WHERE o.id = held.id
"""
_AUDIT = """
WITH first AS MATERIALIZED (
    SELECT id, action_time FROM django_admin_log ORDER BY id LIMIT %(most)s
)
DELETE FROM django_admin_log l USING first
WHERE l.id = first.id AND first.action_time < now() - make_interval(days => %(days)s::int)
"""
# By their index. Those that are open have no end, and stay.
_ALERTS = """
WITH held AS MATERIALIZED (
    SELECT id FROM alert WHERE ended_at < now() - make_interval(days => %(days)s::int)
    ORDER BY ended_at, id LIMIT %(most)s FOR UPDATE SKIP LOCKED
)
DELETE FROM alert a USING held WHERE a.id = held.id
"""
# By the index of tombstones. From then on the id is free.
_KEYS = """
WITH held AS MATERIALIZED (
    SELECT channel_id, message_id FROM message_key WHERE pruned_at < now() - make_interval(days => %(days)s::int)
    ORDER BY pruned_at LIMIT %(most)s FOR UPDATE SKIP LOCKED
)
DELETE FROM message_key key USING held WHERE key.channel_id = held.channel_id AND key.message_id = held.message_id
"""

_COUNT = """
SELECT count(*) FROM {table} WHERE {column} < now() - make_interval(days => %(days)s::int)
"""


def remove_operations() -> int:
    return _remove(_OPERATIONS, settings.OPERATION_RETENTION_DAYS)


def remove_audit() -> int:
    return _remove(_AUDIT, settings.AUDIT_RETENTION_DAYS)


def remove_alerts() -> int:
    return _remove(_ALERTS, settings.ALERT_RETENTION_DAYS)


def free_ids() -> int:
    return _remove(_KEYS, settings.ID_RETENTION_DAYS)


REMOVES = {"id": free_ids, "operation": remove_operations, "admin log": remove_audit, "alert": remove_alerts}


def remove_all() -> Counter[str]:
    """Batch after batch, until one finds nothing."""
    gone: Counter[str] = Counter()
    for name, remove in REMOVES.items():
        while count := remove():
            gone[name] += count
    return gone


def count() -> Counter[str]:
    """What `remove_all` would remove; nothing changes."""
    counted = {
        "id": _count("message_key", "pruned_at", settings.ID_RETENTION_DAYS),
        "operation": _count("operation", "finished_at", settings.OPERATION_RETENTION_DAYS),
        "admin log": _count("django_admin_log", "action_time", settings.AUDIT_RETENTION_DAYS),
        "alert": _count("alert", "ended_at", settings.ALERT_RETENTION_DAYS),
    }
    return +Counter(counted)


def _count(table: str, column: str, days: int) -> int:
    if not days:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(_COUNT.format(table=table, column=column), {"days": days})
        return int(cursor.fetchone()[0])


def _remove(statement: str, days: int) -> int:
    """A batch; says how many went."""
    if not days:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(statement, {"days": days, "most": MOST})
        return cursor.rowcount
