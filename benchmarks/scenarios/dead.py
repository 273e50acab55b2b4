"""Dead letters: how fast a redrive queues them again, while their consumer is paused."""

from typing import LiteralString

from benchmarks import rows
from benchmarks.bench import Bench
from benchmarks.broker import BEAT, DISPATCH
from benchmarks.errors import NotMeasured
from benchmarks.figures import Figure, at_least

ENDED: LiteralString = "SELECT finished_at IS NOT NULL FROM operation WHERE public_id = %(id)s"
PER_SECOND: LiteralString = """
SELECT done / extract(epoch FROM finished_at - created_at)::float8 FROM operation WHERE public_id = %(id)s
"""
QUEUED: LiteralString = "SELECT count(*) FROM delivery_job WHERE consumer_id = %(consumer)s AND status = 1001"


def run(bench: Bench) -> list[Figure]:
    broker = bench.broker
    channel, letters = broker.channel(k=bench.receiver.url("/ok/dead")), bench.size(100_000, 2_000)
    rows.add_dead(broker, channel, letters)
    broker.post(f"/channel/{channel.name}/consumer/k/pause")
    with broker.running(DISPATCH, BEAT):
        asked = broker.post("/dead-letters/redrive", channel=channel.name, reason="http_5xx")
        broker.wait_until(lambda: broker.value(ENDED, id=asked["id"]), "the redrive")
    if (queued := broker.value(QUEUED, consumer=channel.consumers[0])) != letters:
        raise NotMeasured(f"Of {letters} letters {queued} were queued again.")
    per_second = float(broker.value(PER_SECOND, id=asked["id"]))
    return [Figure("dead, redrive by filter", "letters/s", per_second, target=at_least(5_000.0))]
