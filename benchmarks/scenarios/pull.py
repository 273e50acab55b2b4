"""Consumers that ask: a steady flow with every acknowledgement, a backlog as fast as it goes, waits that are cheap."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, LiteralString

from benchmarks import children
from benchmarks.backlog import fill, wait_for_fan_out
from benchmarks.bench import Bench
from benchmarks.broker import BEAT, DISPATCH, WEB, Channel
from benchmarks.figures import Figure, at_least, at_most
from benchmarks.pollers import Polled, Polling

PER_SECOND, POLLERS = 1_000, 4
IDLE_PER_SECOND = 20
WAITING, MOST_CONNECTIONS, MOST_MIB, MIB = 500, 5, 50.0, 2**20
CONNECTIONS: LiteralString = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
OPEN: LiteralString = """
SELECT count(*) FROM delivery_job WHERE consumer_id = ANY(%(of)s) AND (status = 1002 OR status = 1001)
"""


def run(bench: Bench) -> list[Figure]:
    with bench.broker.running(DISPATCH, BEAT):
        return [*_steady(bench), *_cycle(bench), *_idle(bench), *_waiting(bench)]


def _steady(bench: Bench) -> list[Figure]:
    """Four pollers keep up, or the backlog grows."""
    channel = bench.broker.pulled()
    messages = PER_SECOND * bench.size(60, 2)
    with ThreadPoolExecutor(1) as threads:
        polled = threads.submit(_poll, bench, channel, jobs=messages, pollers=POLLERS, says_running=True)
        loaded = bench.load(channel, requests=messages, per_second=PER_SECOND)
        left = float(bench.broker.value(OPEN, of=channel.consumers))
        done = polled.result()
    return [
        Figure("pull, steady flow", "messages/s", loaded.accepted / loaded.seconds, target=at_least(0.95 * PER_SECOND)),
        Figure("backlog left after the last message to pull", "jobs", left, target=at_most(PER_SECOND)),
        Figure("pull, publish to first ack, p99", "ms", done.to_ack_p99_ms, target=at_most(1_000.0)),
        Figure("pull, publish to first ack, p50", "ms", done.to_ack_p50_ms),
    ]


def _cycle(bench: Bench) -> list[Figure]:
    channel = bench.broker.pulled()
    jobs = bench.size(30_000, 300)
    fill(bench, channel, jobs)
    wait_for_fan_out(bench)
    done = _poll(bench, channel, jobs=jobs)
    return [Figure("pull, lease and ack by 100, one poller", "jobs/s", jobs / done.seconds, target=at_least(3_000.0))]


def _idle(bench: Bench) -> list[Figure]:
    channel = bench.broker.pulled()
    messages = bench.size(600, 20)
    with ThreadPoolExecutor(1) as threads:
        polled = threads.submit(_poll, bench, channel, jobs=messages, limit=1, pollers=2)
        bench.load(channel, requests=messages, per_second=IDLE_PER_SECOND)
        done = polled.result()
    return [
        Figure("pull, idle: publish to lease answer, p50", "ms", done.to_lease_p50_ms, target=at_most(30.0)),
        Figure("pull, idle: publish to lease answer, p99", "ms", done.to_lease_p99_ms),
    ]


def _waiting(bench: Bench) -> list[Figure]:
    broker, channel = bench.broker, bench.broker.pulled()
    memory, connections = broker.rss_bytes(WEB) / MIB, broker.value(CONNECTIONS)
    told = {"port": broker.plan.port, "channel": channel.name, "number": bench.size(WAITING, 20)}
    with children.running("benchmarks.waiters", told):
        held, grown = broker.value(CONNECTIONS), broker.rss_bytes(WEB) / MIB
    return [
        Figure(
            "pull, 500 waiting: connections",
            "connections",
            held,
            connections,
            "nobody waiting",
            at_most(connections + MOST_CONNECTIONS),
        ),
        Figure("pull, 500 waiting: web", "MiB", grown, memory, "nobody waiting", at_most(memory + MOST_MIB)),
    ]


def _poll(bench: Bench, channel: Channel, **fields: Any) -> Polled:
    polling = Polling(port=bench.broker.plan.port, channel=channel.name, **fields)
    return Polled(**children.ask("benchmarks.pollers", asdict(polling)))
