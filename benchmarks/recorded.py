"""Numbers over time as they are after a month: steps of every length, of each consumer, each channel and all."""

from typing import LiteralString

from benchmarks.broker import Broker, Channel

# Steps in seconds, and how many of each are kept: two hours, two days, eight days, a month.
STEPS = ((10, 720), (60, 2_880), (600, 1_152), (3_600, 720))
FILL: LiteralString = """
INSERT INTO watch_recorded (channel_id, consumer_id, step, at, accepted, delivered, failed, dead, scheduled, retried,
                            latency, lag, queued, in_flight, letters)
SELECT level.channel_id, level.consumer_id, %(step)s::int,
       date_bin(make_interval(secs => %(step)s::int), now(), 'epoch') - n * make_interval(secs => %(step)s::int),
       1000, 990, 20, 2, 10, 18, '{0,0,0,0,0,1,5,20,80,200,300,200,100,50,20,8,4,2,1}', '{0,0,0,0,1,3,4,2}', 50, 10, 30
FROM generate_series(0, %(count)s::int - 1) AS n CROSS JOIN (
    SELECT 0 AS channel_id, 0::bigint AS consumer_id UNION ALL SELECT %(channel)s, 0
    UNION ALL SELECT %(channel)s, unnest(%(consumers)s::bigint[])
) AS level
ON CONFLICT DO NOTHING
"""
# So many that are ready for each, the oldest an hour old, with their counters.
WAITING: LiteralString = """
INSERT INTO delivery_job (message_id, channel_id, consumer_id, priority, created_at)
SELECT m.id, m.channel_id, k.id, 0, now() - interval '1 hour'
FROM (SELECT id, channel_id FROM message WHERE channel_id = %(channel)s ORDER BY id LIMIT 100) AS m
CROSS JOIN unnest(%(consumers)s::bigint[]) AS k (id)
"""


def add_recorded(broker: Broker, channel: Channel) -> None:
    told = {"channel": channel.row_id, "consumers": channel.consumers}
    for step, count in STEPS:
        broker.database.execute(FILL, {**told, "step": step, "count": count})
    broker.database.execute(WAITING, told)
    broker.database.execute("VACUUM (ANALYZE) watch_recorded")
    broker.database.execute("VACUUM (ANALYZE) delivery_job")
