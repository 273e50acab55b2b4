"""Messages for later that were cancelled: no message has come of them, so they go by themselves.

What is dispatched goes with its message; what was set aside waits for somebody to look at it.
"""

from django.db import connection

from reports_app.models import LakeKind
from reports_app.prune.messages import Step, Wanted
from reports_app.prune.proof import HOLD_SLICES, SLICES, TOUCHED
from reports_app.prune.tally import Tally

_BEFORE = "now() - make_interval(days => %(days)s::int)"
# Nothing moves a cancelled one any more: one statement will do.
_JUDGE = f"""
WITH looked_at AS MATERIALIZED (
    SELECT id, channel_id, message_id, status_changed_at < {_BEFORE} AS is_over, created_at < {_BEFORE} AS is_old
    FROM scheduled_message WHERE channel_id = %(channel)s AND status = 102 AND id > %(after)s
    ORDER BY channel_id, status, id LIMIT %(most)s
), row_of AS MATERIALIZED (
    SELECT {LakeKind.SCHEDULED} AS kind, s.id, s.id AS owner
    FROM looked_at JOIN scheduled_message s ON s.id = looked_at.id WHERE is_over ORDER BY s.id {{hold_rows}}
), {SLICES}, doomed AS MATERIALIZED (
    SELECT * FROM placed WHERE slice_id IS NOT NULL
)
"""  # noqa: S608
_SEEN = """
SELECT (SELECT count(*) FROM doomed), (SELECT count(*) FROM looked_at), (SELECT max(id) FROM looked_at),
       (SELECT is_old FROM looked_at ORDER BY id DESC LIMIT 1)
"""
_PRUNE = f"""
{_JUDGE.format(hold=HOLD_SLICES, hold_rows="FOR UPDATE OF s SKIP LOCKED")}, {TOUCHED}, keyed AS (
    UPDATE message_key key SET pruned_at = now() FROM looked_at l
    WHERE key.channel_id = l.channel_id AND key.message_id = l.message_id AND key.scheduled AND key.row_id = l.id
      AND l.id IN (SELECT id FROM doomed)
), gone AS (
    DELETE FROM scheduled_message s USING doomed WHERE s.id = doomed.id
)
{_SEEN}
"""  # noqa: S608
_COUNT = _JUDGE.format(hold="", hold_rows="") + _SEEN


def prune_batch(wanted: Wanted, *, after: int, most: int) -> Step:
    return _step(_PRUNE, wanted, after, most)


def count_batch(wanted: Wanted, *, after: int, most: int) -> Step:
    return _step(_COUNT, wanted, after, most)


def _step(statement: str, wanted: Wanted, after: int, most: int) -> Step:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"channel": wanted.channel_id, "days": wanted.days, "after": after, "most": most})
        gone, count, last_id, last_is_old = cursor.fetchone()
    return Step(Tally([(LakeKind.SCHEDULED, gone)]), last_id or after, count < most or not last_is_old)
