"""Messages with everything that hangs on them, a batch of a channel in a transaction.

The first statement holds: messages, then jobs, then letters, each by id, as everybody does; what somebody else holds
is passed over. The second sees what is so now that it is held: what a redrive, a replay or an expunge did to a row has
been committed, with its mark, or waits for us and finds no row.
"""

from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from reports_app.models import LakeKind
from reports_app.prune.proof import HOLD_SLICES, SLICES, TOUCHED
from reports_app.prune.tally import Tally

_BEFORE = "now() - make_interval(days => %(days)s::int)"
# Without a number of days letters are kept until somebody resolves them.
_LETTER_IS_OVER = "(l.resolution IS NOT NULL OR l.entered_at < now() - make_interval(days => %(letter_days)s::int))"

# Along the channel's index, from where the last look ended. What cannot go yet is not even held.
_CHOOSE = f"""
WITH looked_at AS MATERIALIZED (
    SELECT id, status, received_at < {_BEFORE} AS is_old FROM message
    WHERE channel_id = %(channel)s AND id > %(after)s ORDER BY channel_id, id LIMIT %(most)s
), held AS MATERIALIZED (
    SELECT m.id FROM looked_at JOIN message m ON m.id = looked_at.id
    WHERE is_old AND looked_at.status = 101
      AND m.id <= (SELECT max(last_id) FROM lake_slice WHERE kind = {LakeKind.MESSAGE})
      AND NOT EXISTS (
          SELECT FROM delivery_job j LEFT JOIN dead_letter l ON l.job_id = j.id AND j.status = 1004
          WHERE j.message_id = m.id AND (j.status < 1003 OR l.id IS NOT NULL AND {_LETTER_IS_OVER} IS NOT TRUE)
      )
    ORDER BY m.id {{hold_messages}}
), jobs AS MATERIALIZED (
    SELECT j.id FROM held JOIN delivery_job j ON j.message_id = held.id ORDER BY j.id {{hold_jobs}}
), letters AS MATERIALIZED (
    SELECT l.id FROM jobs JOIN dead_letter l ON l.job_id = jobs.id ORDER BY l.id {{hold_letters}}
)
SELECT (SELECT count(*) FROM looked_at), (SELECT max(id) FROM looked_at),
       (SELECT is_old FROM looked_at ORDER BY id DESC LIMIT 1),
       ARRAY(SELECT id FROM held), ARRAY(SELECT id FROM jobs), ARRAY(SELECT id FROM letters)
"""  # noqa: S608
_HOLD = _CHOOSE.format(
    hold_messages="FOR UPDATE OF m SKIP LOCKED",
    hold_jobs="FOR UPDATE OF j SKIP LOCKED",
    hold_letters="FOR UPDATE OF l SKIP LOCKED",
)
_LOOK = _CHOOSE.format(hold_messages="", hold_jobs="", hold_letters="")

# NOT IN, and not a join: it is hashed, however many rows the planner expects.
_JUDGE = f"""
WITH messages AS MATERIALIZED (
    SELECT m.id, m.channel_id, m.message_id FROM unnest(%(messages)s::bigint[]) AS held (id) JOIN message m USING (id)
), jobs AS MATERIALIZED (
    SELECT j.id, j.message_id, j.status IN (1003, 1004) AND j.status_changed_at < {_BEFORE}
           AND j.id IN (SELECT unnest(%(jobs)s::bigint[])) AS is_over
    FROM messages JOIN delivery_job j ON j.message_id = messages.id
), letters AS MATERIALIZED (
    SELECT l.id, jobs.message_id,
           {_LETTER_IS_OVER} IS TRUE AND l.id IN (SELECT unnest(%(letters)s::bigint[])) AS is_over
    FROM jobs JOIN dead_letter l ON l.job_id = jobs.id
), row_of AS MATERIALIZED (
    SELECT {LakeKind.MESSAGE} AS kind, id, id AS owner FROM messages
    UNION ALL SELECT {LakeKind.JOB}, id, message_id FROM jobs
    UNION ALL SELECT {LakeKind.SCHEDULED}, s.id, m.id FROM messages m
        JOIN scheduled_message s ON s.channel_id = m.channel_id AND s.message_id = m.message_id AND s.status = 101
    UNION ALL SELECT {LakeKind.ATTEMPT}, a.id, message_id FROM jobs JOIN delivery_attempt a ON a.job_id = jobs.id
    UNION ALL SELECT {LakeKind.LETTER_ACT}, a.id, message_id FROM jobs JOIN dead_letter_act a ON a.job_id = jobs.id
), {SLICES}, stays AS MATERIALIZED (
    SELECT message_id FROM jobs WHERE NOT is_over
    UNION SELECT message_id FROM letters WHERE NOT is_over
    UNION SELECT owner FROM placed WHERE slice_id IS NULL
), doomed AS MATERIALIZED (
    SELECT * FROM placed WHERE owner NOT IN (SELECT message_id FROM stays)
)
"""  # noqa: S608
_COUNTED = "SELECT kind, count(*) FROM doomed GROUP BY kind"
_REMOVED = ", ".join(
    f"gone_{table} AS (DELETE FROM {table} t USING doomed WHERE doomed.kind = {kind} AND t.id = doomed.id)"  # noqa: S608
    for kind, table in (
        (LakeKind.MESSAGE, "message"),
        (LakeKind.JOB, "delivery_job"),
        (LakeKind.SCHEDULED, "scheduled_message"),
        (LakeKind.ATTEMPT, "delivery_attempt"),
        (LakeKind.LETTER_ACT, "dead_letter_act"),
    )
)
_PRUNE = f"""
{_JUDGE.format(hold=HOLD_SLICES)}, {TOUCHED}, keyed AS (
    UPDATE message_key key SET pruned_at = now() FROM messages m
    WHERE key.channel_id = m.channel_id AND key.message_id = m.message_id AND NOT key.scheduled AND key.row_id = m.id
      AND m.id NOT IN (SELECT message_id FROM stays)
), gone_letter AS (
    DELETE FROM dead_letter l USING letters
    WHERE l.id = letters.id AND letters.message_id NOT IN (SELECT message_id FROM stays)
), {_REMOVED}
{_COUNTED}
"""  # noqa: S608
_COUNT = _JUDGE.format(hold="") + _COUNTED


@dataclass(frozen=True)
class Wanted:
    """For how many days a channel keeps its messages, and its open letters (None: until they are resolved)."""

    channel_id: int
    days: int
    letter_days: int | None


@dataclass(frozen=True)
class Step:
    """What went, the last row that was looked at, and whether all old ones have been."""

    gone: Tally
    last_id: int
    is_over: bool


def prune_batch(wanted: Wanted, *, after: int, most: int) -> Step:
    with transaction.atomic(), connection.cursor() as cursor:
        return _step(cursor, (_HOLD, _PRUNE), wanted, after=after, most=most)


def count_batch(wanted: Wanted, *, after: int, most: int) -> Step:
    """What `prune_batch` would do; nothing is held, nothing changes."""
    with connection.cursor() as cursor:
        return _step(cursor, (_LOOK, _COUNT), wanted, after=after, most=most)


def _step(cursor: Any, statements: tuple[str, str], wanted: Wanted, *, after: int, most: int) -> Step:
    choose, judge = statements
    told = {"channel": wanted.channel_id, "days": wanted.days, "letter_days": wanted.letter_days}
    cursor.execute(choose, {**told, "after": after, "most": most})
    count, last_id, last_is_old, messages, jobs, letters = cursor.fetchone()
    is_over = count < most or not last_is_old
    if not messages:
        return Step(Tally(), last_id or after, is_over)
    cursor.execute(judge, {**told, "messages": messages, "jobs": jobs, "letters": letters})
    return Step(Tally(cursor.fetchall()), last_id, is_over)
