"""Step 6: what is due becomes messages with their jobs, a batch of one partition in one transaction.

A lane is a partition of a channel. What is due is so by PostgreSQL's clock, unless a test passes one: nothing goes
early. It is marked in the transaction that makes the message: nothing goes twice.
"""

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from broker_project.lib.bound import fetch
from channels_app.delivery.fanout import MAKE_JOBS
from channels_app.delivery.work import WHO, Work
from channels_app.models.channel import MAX_PARTITIONS

MOST_BYTES = 8 * 1024 * 1024
# A channel's release rate is spent in steps of this, or of one message.
RELEASE_STEP_SECONDS = 0.1

_CLOCK = "clock AS (SELECT coalesce(%(now)s::timestamptz, now()) AS now)"

# The order is that of the index scheduled_due. Locked rows are somebody's who changes them: they are looked at again.
# A release that lies ahead is of a clock that was put back since.
# What goes out is what was locked: the table read again would show an older version to this statement.
# Keys are joined by due.channel_id, not by the channel's number: of a channel that is younger than the statistics the
# planner would expect one key, and read all of them for each row of the batch.
# A row whose channel is gone is cancelled; one whose id has become another's is set aside. Neither holds up the rest.
_DISPATCH = f"""
WITH {_CLOCK}, release AS MATERIALIZED (
    SELECT channel.release_per_second AS rate, greatest(
        CASE WHEN state.released_until <= clock.now + interval '1 second'
             THEN least(state.released_until, clock.now) ELSE '-infinity' END,
        clock.now - make_interval(secs => greatest({RELEASE_STEP_SECONDS}, 1 / channel.release_per_second))
    ) AS since
    FROM clock, channel JOIN channel_state state ON state.channel_id = channel.id
    WHERE channel.id = %(channel)s::bigint AND channel.release_per_second IS NOT NULL FOR UPDATE OF state
), due AS MATERIALIZED (
    SELECT id, channel_id, producer_id, message_id, payload, content_type, priority, headers, partition, due_at,
           ttl_seconds
    FROM scheduled_message
    WHERE channel_id = %(channel)s::bigint AND partition = %(partition)s::smallint AND status = 100
      AND due_at <= (SELECT now FROM clock)
    ORDER BY due_at, id
    LIMIT coalesce(
        (SELECT least(
            %(most)s::bigint,
            greatest(0, floor(extract(epoch FROM clock.now - since) * rate + 1e-6 * greatest(1, rate)))::bigint
         ) FROM release, clock),
        %(most)s::bigint
    )
    FOR UPDATE SKIP LOCKED
), fits AS MATERIALIZED (
    SELECT id FROM (
        SELECT id, sum(octet_length(payload)) OVER (ORDER BY due_at, id) - octet_length(payload) AS before FROM due
    ) AS measured WHERE before < {MOST_BYTES}
), judged AS MATERIALIZED (
    SELECT due.id AS scheduled_id, due.due_at,
           CASE WHEN channel.id IS NULL OR channel.deleted_at IS NOT NULL THEN 'channel_gone'
                WHEN key.row_id IS NULL THEN 'id_taken' END AS reason
    FROM fits JOIN due ON due.id = fits.id LEFT JOIN channel ON channel.id = %(channel)s::bigint
    LEFT JOIN message_key key ON key.channel_id = due.channel_id AND key.message_id = due.message_id
         AND key.scheduled AND key.row_id = due.id
), movable AS MATERIALIZED (
    SELECT nextval('message_id_seq'::regclass) AS id, ordered.scheduled_id FROM (
        SELECT scheduled_id FROM judged WHERE reason IS NULL ORDER BY due_at, scheduled_id
    ) AS ordered
), state AS (
    UPDATE channel_state SET last_sequence = last_sequence + (SELECT count(*) FROM movable),
        released_until = coalesce(
            (SELECT since + make_interval(secs => (SELECT count(*) FROM movable) / rate) FROM release), released_until
        )
    WHERE channel_id = %(channel)s::bigint AND EXISTS (SELECT FROM movable)
    RETURNING last_sequence - (SELECT count(*) FROM movable) AS before
), numbered AS MATERIALIZED (
    SELECT movable.id, movable.scheduled_id, due.priority, due.partition,
           now() + make_interval(secs => due.ttl_seconds) AS ends_at,
           state.before + row_number() OVER (ORDER BY movable.id) AS sequence
    FROM state, movable JOIN due ON due.id = movable.scheduled_id
), stored AS (
    INSERT INTO message (id, channel_id, producer_id, message_id, payload, content_type, priority, headers, partition,
                         status, sequence, received_at, dispatched_at, ttl_seconds)
    OVERRIDING SYSTEM VALUE
    SELECT numbered.id, %(channel)s::bigint, due.producer_id, due.message_id, due.payload, due.content_type,
           due.priority, due.headers, due.partition, 101, numbered.sequence, now(), now(), due.ttl_seconds
    FROM numbered JOIN due ON due.id = numbered.scheduled_id ORDER BY numbered.id
), made AS (
    {MAKE_JOBS}
), keyed AS (
    UPDATE message_key key SET scheduled = false, row_id = numbered.id
    FROM numbered JOIN due ON due.id = numbered.scheduled_id
    WHERE key.channel_id = due.channel_id AND key.message_id = due.message_id
), ended AS MATERIALIZED (
    SELECT judged.* FROM judged LEFT JOIN numbered USING (scheduled_id)
    WHERE reason IS NOT NULL OR numbered.id IS NOT NULL
), marked AS (
    UPDATE scheduled_message s SET reason = ended.reason, status_changed_at = clock.now,
           status = CASE ended.reason WHEN 'channel_gone' THEN 102 WHEN 'id_taken' THEN 103 ELSE 101 END,
           dispatched_at = CASE WHEN ended.reason IS NULL THEN clock.now END
    FROM ended, clock WHERE s.id = ended.scheduled_id
)
SELECT (SELECT count(*) FROM ended WHERE reason IS NULL), (SELECT count(*) FROM ended WHERE reason IS NOT NULL),
       (SELECT array_agg(extract(epoch FROM clock.now - due_at)::float8 ORDER BY due_at)
        FROM ended, clock WHERE reason IS NULL),
       work.* FROM ({WHO}) AS work
"""  # noqa: S608

# What the release rate holds back counts as due when it may go.
_NEXT = f"""
WITH {_CLOCK}
SELECT extract(epoch FROM greatest(
    s.due_at,
    (SELECT state.released_until + make_interval(secs => 1 / channel.release_per_second)
     FROM channel JOIN channel_state state ON state.channel_id = channel.id
     WHERE channel.id = %(channel)s::bigint AND channel.release_per_second IS NOT NULL)
) - clock.now)::float8
FROM scheduled_message s, clock
WHERE s.channel_id = %(channel)s::bigint AND s.partition = %(partition)s::smallint AND s.status = 100
ORDER BY s.due_at, s.id LIMIT 1
"""  # noqa: S608

# Lane by lane, by skipping along the index: the rows of next month are not looked at.
_LANES = f"""
WITH RECURSIVE {_CLOCK}, lane AS (
    (SELECT channel_id, partition, due_at FROM scheduled_message WHERE status = 100
     ORDER BY channel_id, partition, due_at LIMIT 1)
    UNION ALL
    SELECT following.* FROM lane CROSS JOIN LATERAL (
        SELECT s.channel_id, s.partition, s.due_at FROM scheduled_message s
        WHERE s.status = 100 AND (s.channel_id, s.partition) > (lane.channel_id, lane.partition)
        ORDER BY s.channel_id, s.partition, s.due_at LIMIT 1
    ) AS following
)
SELECT channel_id, partition, extract(epoch FROM due_at - clock.now)::float8 FROM lane, clock
WHERE due_at <= clock.now + make_interval(secs => %(within)s::float8)
"""  # noqa: S608


@dataclass(frozen=True)
class Lane:
    """A partition of a channel, and its number for rings and locks."""

    channel_id: int
    partition: int

    @property
    def number(self) -> int:
        return self.channel_id * MAX_PARTITIONS + self.partition

    @classmethod
    def numbered(cls, number: int) -> "Lane":
        return cls(*divmod(number, MAX_PARTITIONS))


@dataclass(frozen=True)
class Dispatched:
    """How many became messages, how many could not, how late each was, and who has work now."""

    messages: int
    refused: int
    lags: list[float]
    work: Work

    @property
    def is_empty(self) -> bool:
        return not self.messages and not self.refused


def dispatch_batch(lane: Lane, *, now: datetime | None = None) -> Dispatched:
    """The next of what is due, in (due, id) order. In one statement, so in one transaction."""
    parameters = {
        "channel": lane.channel_id,
        "partition": lane.partition,
        "most": settings.SCHEDULER_BATCH_SIZE,
        "now": now,
    }
    messages, refused, lags, *who = fetch(_DISPATCH, parameters)[0]
    return Dispatched(messages, refused, lags or [], Work.of(*who))


def next_due_in(lane: Lane, *, now: datetime | None = None) -> float | None:
    """Seconds until the lane's next; not above zero: it is due. None: there is none."""
    rows = fetch(_NEXT, {"channel": lane.channel_id, "partition": lane.partition, "now": now})
    return rows[0][0] if rows else None


def lanes_due(within_seconds: float, *, now: datetime | None = None) -> list[tuple[Lane, float]]:
    """The lanes whose next is due within so many seconds, and in how many."""
    rows = fetch(_LANES, {"within": within_seconds, "now": now})
    return [(Lane(channel_id, partition), wait) for channel_id, partition, wait in rows]
