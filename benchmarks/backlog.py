"""A backlog: messages stored and fanned out while no delivery worker runs, and what happens once one does."""

from typing import LiteralString

from benchmarks.bench import Bench
from benchmarks.broker import BEAT, DELIVERY, DISPATCH, WORKERS, Channel
from benchmarks.errors import NotMeasured

# Served by the partial indexes: polling must not slow down what it waits for.
WAITING: LiteralString = "SELECT EXISTS (SELECT FROM message WHERE status = 100)"
CLAIMED: LiteralString = "SELECT EXISTS (SELECT FROM delivery_job WHERE status = 1002)"
OPEN: LiteralString = """
SELECT EXISTS (SELECT FROM delivery_job WHERE consumer_id = ANY(%(of)s) AND status = 1001 AND next_attempt_at IS NULL)
    OR EXISTS (SELECT FROM delivery_job WHERE consumer_id = ANY(%(of)s) AND status = 1002)
    OR EXISTS (SELECT FROM delivery_job WHERE consumer_id = ANY(%(of)s) AND status = 1001
               AND next_attempt_at IS NOT NULL)
"""
PER_SECOND: LiteralString = """
SELECT count(*) / extract(epoch FROM max(status_changed_at) - %(begun)s)::float8
FROM delivery_job WHERE consumer_id = ANY(%(of)s) AND status = 1003
"""
UNDELIVERED: LiteralString = """
SELECT count(*) FROM delivery_job WHERE consumer_id = ANY(%(of)s) AND status <> 1003
"""
# Of one channel with one consumer: not fanned out, and not delivered.
LEFT: LiteralString = """
SELECT (SELECT count(*) FROM message WHERE channel_id = %(channel)s AND status = 100)
     + (SELECT count(*) FROM delivery_job WHERE consumer_id = %(consumer)s AND status IN (1001, 1002))
"""


def fill(bench: Bench, channel: Channel, messages: int) -> None:
    """Published through the door."""
    loaded = bench.load(channel, requests=messages)
    if loaded.accepted != messages:
        raise NotMeasured(f"Of {messages} messages {loaded.accepted} were accepted: {loaded.statuses}")


def wait_for_fan_out(bench: Bench) -> None:
    """Also after a publish: whoever is measured next has the machine for itself."""
    bench.broker.wait_until(lambda: not bench.broker.value(WAITING), "the fan-out")


def drain(bench: Bench, channel: Channel) -> float:
    """Fans out, then starts the delivery worker. Deliveries a second, from the first claim to the last settled row.

    The first claim of any job counts: a consumer that has to wait for others has lost that time.
    """
    broker = bench.broker
    broker.begin(DISPATCH, BEAT)
    wait_for_fan_out(bench)
    broker.begin(DELIVERY)
    broker.wait_until(lambda: broker.value(CLAIMED), "a first claim", every=0.005)
    begun = broker.value("SELECT clock_timestamp()")
    broker.wait_until(lambda: not broker.value(OPEN, of=channel.consumers), "the backlog to be delivered")
    broker.stop(*WORKERS)
    if undelivered := broker.value(UNDELIVERED, of=channel.consumers):
        raise NotMeasured(f"{undelivered} jobs were not delivered.")
    return float(broker.value(PER_SECOND, of=channel.consumers, begun=begun))
