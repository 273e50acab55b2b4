"""How much a queue holds, partition by partition: counts from the counters, ages from the items that are looked at."""

from typing import NamedTuple

from broker_project.lib.bound import fetch
from scheduling_app.querator.queues import QueueInfo

# Open jobs of the consumer, those of other partitions than 0, and messages for later: see the migration of partitions.
_COUNTED = """
SELECT kind, CASE WHEN kind = 2 THEN 0 ELSE consumer_id END, sum(count)::bigint FROM (
    SELECT kind, consumer_id, status, count FROM counter WHERE kind IN (2, 3, 4) AND channel_id = %(channel)s
    UNION ALL
    SELECT kind, consumer_id, status, count FROM counter_delta WHERE kind IN (2, 3, 4) AND channel_id = %(channel)s
) AS counted
WHERE status IN (100, 1001, 1002) AND (kind <> 2 OR consumer_id = %(consumer)s) GROUP BY 1, 2
"""
_LEASED = """
SELECT j.partition, count(*), avg(extract(epoch FROM now() - j.created_at))::float8
FROM delivery_job j WHERE j.consumer_id = %(consumer)s AND j.status = 1002 GROUP BY 1
"""
_WAITING = """
SELECT partition, count(*) FROM delivery_job
WHERE consumer_id = %(consumer)s AND status = 1001 AND next_attempt_at IS NOT NULL GROUP BY 1
"""
# Of the oldest: the average of a million would be a look at each of them.
LOOKED_AT = 1_000
_AGES = f"""
WITH oldest AS MATERIALIZED (
    SELECT partition, created_at FROM delivery_job
    WHERE consumer_id = %(consumer)s AND status = 1001 AND next_attempt_at IS NULL
    ORDER BY priority DESC, id LIMIT {LOOKED_AT}
)
SELECT partition, avg(extract(epoch FROM now() - created_at))::float8 FROM oldest GROUP BY 1
"""  # noqa: S608


class PartitionStats(NamedTuple):
    partition: int
    total: int
    leased: int
    scheduled: int
    average_age: float
    average_leased_age: float


def stats(queue: QueueInfo) -> list[PartitionStats]:
    ids = {"channel": queue.channel.pk, "consumer": queue.consumer.pk}
    counted = {(kind, partition): count for kind, partition, count in fetch(_COUNTED, ids)}
    leased = {partition: (count, age) for partition, count, age in fetch(_LEASED, ids)}
    waiting = dict(fetch(_WAITING, ids))
    ages = dict(fetch(_AGES, ids))
    elsewhere = sum(count for (kind, _), count in counted.items() if kind == 4)
    found = []
    for partition in range(queue.channel.partitions):
        jobs = counted.get((4, partition), 0) if partition else max(0, counted.get((2, 0), 0) - elsewhere)
        retried = waiting.get(partition, 0)
        scheduled = counted.get((3, partition), 0) + retried
        held, held_age = leased.get(partition, (0, 0.0))
        age = ages.get(partition, held_age)
        found.append(PartitionStats(partition, max(0, jobs - retried), held, scheduled, age, held_age))
    return found
