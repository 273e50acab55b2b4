"""The step: ticks that are due become messages for later, and each schedule moves on, in one transaction.

Who takes a schedule holds its row, so two beats or two workers never meet on one; and should a tick be made again, its
message id is taken already. What is due is so by PostgreSQL's clock, unless a test passes one: nothing is early.
One that PostgreSQL refuses is paused: else it would be taken first, and refused, for ever, and nobody would tick.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import psycopg
import structlog
from django.conf import settings
from django.db import DatabaseError, DataError, IntegrityError, transaction

from broker_project.lib.bound import fetch
from broker_project.lib.pg_arrays import Bigints, Byteas, Texts
from scheduling_app.errors import ScheduleUnreadable
from scheduling_app.models import Overlap
from scheduling_app.models.recurring import MAX_NOTE_LENGTH
from scheduling_app.recurring.plan import Plan, Rules, plan
from scheduling_app.recurring.specs import make_spec
from scheduling_app.recurring.template import job_message_id, message_id, render

log = structlog.get_logger(__name__)

MOST_BYTES = 8 * 1024 * 1024
# In one transaction; of a schedule that has missed more, the next step makes more.
MOST_TICKS = 1_000
_EPOCH, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
BROKER = "the broker"
CHANNEL_GONE, PRODUCER_GONE = "Its channel is gone.", "Its producer is gone."
NOT_STORED = "Its tick could not be stored"

_CLOCK = "clock AS (SELECT coalesce(%(now)s::timestamptz, now()) AS now)"

# The order is that of the index recurring_due. Columns come from the locked row: a joined one could be older.
# Held: the message of the tick before waits, or is not fanned out, or has open jobs; each is found by a key.
_TAKE = f"""
WITH {_CLOCK}, due AS MATERIALIZED (
    SELECT * FROM recurring_schedule
    WHERE paused_at IS NULL AND deleted_at IS NULL AND next_at <= (SELECT now FROM clock)
    ORDER BY next_at, id LIMIT %(most)s::bigint FOR UPDATE SKIP LOCKED
), fits AS MATERIALIZED (
    SELECT * FROM (
        SELECT *, sum(octet_length(payload)) OVER (ORDER BY next_at, id) - octet_length(payload) AS before FROM due
    ) AS measured WHERE before < {MOST_BYTES}
)
SELECT r.id, r.channel_id, r.public_id, channel.public_id, r.cron, r.interval_seconds, r.timezone, r.start_at, r.end_at,
       r.missed, r.overlap, r.payload, r.next_at, clock.now,
       CASE WHEN channel.deleted_at IS NOT NULL THEN '{CHANNEL_GONE}'
            WHEN producer.deleted_at IS NOT NULL THEN '{PRODUCER_GONE}' ELSE '' END,
       r.overlap = 'skip' AND EXISTS (
           SELECT FROM message_key key
           WHERE key.channel_id = r.channel_id AND key.message_id = r.public_id
                 || CASE WHEN r.job IS NULL THEN '-' ELSE '-' || r.id || '-' END
                 || to_char(r.last_tick_at AT TIME ZONE 'UTC', 'YYYYMMDD"T"HH24MISS"Z"')
             AND CASE WHEN key.scheduled
                 THEN EXISTS (SELECT FROM scheduled_message s WHERE s.id = key.row_id AND s.status = 100)
                 ELSE EXISTS (SELECT FROM message m WHERE m.id = key.row_id AND m.status = 100)
                   OR EXISTS (SELECT FROM delivery_job j WHERE j.message_id = key.row_id AND j.status IN (1001, 1002))
             END
       ),
       r.max_ticks - r.ticks, r.job IS NULL
FROM clock, fits r JOIN channel ON channel.id = r.channel_id JOIN producer ON producer.id = r.producer_id
ORDER BY r.next_at, r.id
"""  # noqa: S608

# As the door stores a message for later: the key first. A channel that spreads its messages spreads these too.
_STORE = """
WITH arrived AS MATERIALIZED (
    SELECT nextval('scheduled_message_id_seq'::regclass) AS id, item.* FROM (
        SELECT tick.*, r.channel_id, r.producer_id, r.content_type, r.priority, r.headers,
               'epoch'::timestamptz + tick.at * interval '1 microsecond' AS scheduled_for,
               make_interval(secs => coalesce(channel.spread_seconds, 0) * random()) AS spread
        FROM unnest(%(schedules)s, %(message_ids)s, %(payloads)s, %(ats)s)
             WITH ORDINALITY AS tick (schedule_id, message_id, payload, at, place)
        JOIN recurring_schedule r ON r.id = tick.schedule_id JOIN channel ON channel.id = r.channel_id
        ORDER BY tick.at, tick.place
    ) AS item
), taken AS (
    INSERT INTO message_key (channel_id, message_id, row_id, scheduled)
    SELECT channel_id, message_id, id, true FROM arrived ORDER BY channel_id, message_id, id
    ON CONFLICT DO NOTHING RETURNING row_id
), stored AS (
    INSERT INTO scheduled_message
        (id, channel_id, producer_id, message_id, payload, content_type, priority, headers, scheduled_for, due_at)
    OVERRIDING SYSTEM VALUE
    SELECT id, channel_id, producer_id, message_id, payload, content_type, priority, headers, scheduled_for,
           scheduled_for + spread
    FROM arrived JOIN taken ON taken.row_id = arrived.id
    RETURNING id
)
SELECT arrived.schedule_id, count(*) FROM arrived JOIN stored USING (id) GROUP BY arrived.schedule_id
"""

# The rows are held since _TAKE.
_MOVE_ON = f"""
UPDATE recurring_schedule r SET
    next_at = CASE WHEN r.max_ticks <= r.ticks + move.made THEN NULL ELSE move.next_at END,
    last_tick_at = coalesce(move.last_at, r.last_tick_at),
    ticks = r.ticks + move.made, skipped = r.skipped + move.skipped,
    deleted_at = CASE WHEN move.note = '{CHANNEL_GONE}' THEN now() END,
    paused_at = CASE WHEN move.note NOT IN ('', '{CHANNEL_GONE}') THEN now() END,
    paused_by = CASE WHEN move.note = '' THEN '' ELSE '{BROKER}' END, paused_note = move.note
FROM unnest(%(ids)s::bigint[], %(nexts)s::timestamptz[], %(lasts)s::timestamptz[], %(made)s::bigint[],
            %(skipped)s::bigint[], %(notes)s::text[]) AS move (id, next_at, last_at, made, skipped, note)
WHERE r.id = move.id RETURNING r.id
"""  # noqa: S608

_NEXT = f"""
WITH {_CLOCK}
SELECT extract(epoch FROM next_at - clock.now)::float8 FROM recurring_schedule, clock
WHERE paused_at IS NULL AND deleted_at IS NULL AND next_at IS NOT NULL ORDER BY next_at LIMIT 1
"""  # noqa: S608


@dataclass(frozen=True)
class Due:
    """A schedule whose time has come, as the step read it."""

    row_id: int
    channel_id: int
    public_id: str
    channel: str
    cron: str | None
    interval_seconds: int | None
    timezone: str
    start_at: datetime
    end_at: datetime | None
    missed: str
    overlap: str
    payload: bytes
    next_at: datetime
    now: datetime
    # Why it cannot tick at all.
    note: str
    is_held: bool
    # How many more it may make; None: no end to them.
    left: int | None
    is_template: bool

    @cached_property
    def size(self) -> int:
        """Of a message, in bytes: with its words filled in, which are as long at every tick."""
        return len(self.render(self.next_at))

    def message_id(self, at: datetime) -> str:
        if self.is_template:
            return message_id(self.public_id, at)
        return job_message_id(self.public_id, self.row_id, at)

    def render(self, at: datetime) -> bytes:
        if not self.is_template:
            return self.payload
        return render(self.payload, channel=self.channel, schedule=self.public_id, tick=at)


@dataclass(frozen=True)
class Tick:
    schedule_id: int
    message_id: str
    payload: bytes
    at: datetime


@dataclass(frozen=True)
class Move:
    """What becomes of a schedule: its ticks, and where it goes on; or why it does not."""

    due: Due
    plan: Plan
    note: str = ""

    def ticks(self) -> list[Tick]:
        due = self.due
        return [Tick(due.row_id, due.message_id(at), due.render(at), at) for at in self.plan.ticks]


@dataclass(frozen=True)
class Ticked:
    """How many schedules had their turn, how many messages that made, and whose."""

    schedules: int = 0
    messages: int = 0
    channel_ids: frozenset[int] = field(default_factory=frozenset)

    @property
    def is_empty(self) -> bool:
        return not self.schedules


def tick_batch(*, now: datetime | None = None) -> Ticked:
    """The next schedules whose time has come."""
    with transaction.atomic():
        taken = fetch(_TAKE, {"now": now, "most": settings.SCHEDULER_BATCH_SIZE})
        moves = _judge([Due(*row) for row in taken])
        if not moves:
            return Ticked()
        made = _carry_out(moves)
    channels = frozenset(move.due.channel_id for move in moves if made.get(move.due.row_id))
    return Ticked(len(moves), sum(made.values()), channels)


def next_tick_in(*, now: datetime | None = None) -> float | None:
    """Seconds until the next schedule ticks; not above zero: it is due. None: there is none."""
    rows = fetch(_NEXT, {"now": now})
    return rows[0][0] if rows else None


def store(ticks: Sequence[Tick]) -> dict[int, int]:
    """Messages for later, due at once; says how many are new, by schedule."""
    if not ticks:
        return {}
    parameters = {
        "schedules": Bigints([tick.schedule_id for tick in ticks]),
        "message_ids": Texts([tick.message_id for tick in ticks]),
        "payloads": Byteas([tick.payload for tick in ticks]),
        "ats": Bigints([(tick.at - _EPOCH) // _MICROSECOND for tick in ticks]),
    }
    return dict(fetch(_STORE, parameters))


def _carry_out(moves: list[Move]) -> dict[int, int]:
    """One bad row never stops the others: the batch is halved until it stands alone, and that one is paused."""
    try:
        with transaction.atomic():
            made = store([tick for move in moves for tick in move.ticks()])
            _move_on(moves, made)
            return made
    except (DataError, IntegrityError) as error:
        if len(moves) == 1:
            _move_on([_stop(moves[0].due, _refusal(error))], {})
            return {}
    middle = len(moves) // 2
    return _carry_out(moves[:middle]) | _carry_out(moves[middle:])


def _refusal(error: DatabaseError) -> str:
    """The first line only: the rest may show the row, and with it the payload."""
    found = error.__cause__
    reason = found.diag.message_primary if isinstance(found, psycopg.Error) else None
    return f"{NOT_STORED}: {reason or type(error).__name__}"[:MAX_NOTE_LENGTH]


def _judge(several: Iterable[Due]) -> list[Move]:
    """Each gets one tick at least; those that catch up share the rest of what a transaction may hold."""
    moves: list[Move] = []
    ticks_left, bytes_left = MOST_TICKS, MOST_BYTES
    for due in _fitting(several):
        fitting = min(ticks_left, bytes_left // max(1, due.size), ticks_left if due.left is None else due.left)
        moves.append(_move(due, most=max(1, fitting)))
        ticks_left -= len(moves[-1].plan.ticks)
        bytes_left -= len(moves[-1].plan.ticks) * due.size
    return moves


def _fitting(several: Iterable[Due]) -> Iterator[Due]:
    """As many as fit with one tick each, filled in; the rest stays due. The statement knows the templates only."""
    before = 0
    for due in several:
        if before >= MOST_BYTES:
            return
        yield due
        before += due.size


def _move(due: Due, *, most: int) -> Move:
    if due.note:
        return _stop(due, due.note)
    rules = Rules(due.missed, due.overlap == Overlap.SKIP, grace())
    try:
        spec = make_spec(
            cron=due.cron,
            interval_seconds=due.interval_seconds,
            timezone=due.timezone,
            start_at=due.start_at,
            end_at=due.end_at,
        )
        return Move(due, plan(spec, due.next_at, due.now, rules=rules, most=most, is_held=due.is_held))
    except (ScheduleUnreadable, ValueError, OverflowError) as error:
        # One that nobody can read here must not hold up the rest.
        return _stop(due, (str(error) or type(error).__name__)[:MAX_NOTE_LENGTH])


def _stop(due: Due, note: str) -> Move:
    """A deleted channel's is over; any other is paused, and says why."""
    log.warning("schedule.stopped", channel=due.channel, schedule=due.public_id, note=note)
    return Move(due, Plan([], 0, None if note == CHANNEL_GONE else due.next_at), note)


def grace() -> timedelta:
    """What a running broker may be late by, whatever rings were lost: two sweeps."""
    return timedelta(seconds=2 * settings.SCHEDULER_INTERVAL_SECONDS)


def _move_on(moves: list[Move], made: dict[int, int]) -> None:
    """A tick whose id was taken by another message counts as skipped."""
    counts = [made.get(move.due.row_id, 0) for move in moves]
    parameters: dict[str, Any] = {
        "ids": [move.due.row_id for move in moves],
        "nexts": [move.plan.next_at for move in moves],
        "lasts": [max(move.plan.ticks, default=None) for move in moves],
        "made": counts,
        "skipped": [
            move.plan.skipped + len(move.plan.ticks) - count for move, count in zip(moves, counts, strict=True)
        ],
        "notes": [move.note for move in moves],
    }
    fetch(_MOVE_ON, parameters)
