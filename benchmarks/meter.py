"""What a broker has spent so far: CPU time by part, bytes written ahead, bytes on disk."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import LiteralString

import psutil
import redis

from benchmarks.broker import Broker

POSTGRES, REDIS = "postgres", "redis"
WAL: LiteralString = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"
STORED: LiteralString = """
SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class
WHERE relname IN ('message', 'message_key', 'scheduled_message', 'delivery_job', 'delivery_attempt') AND relkind = 'r'
"""


@dataclass(frozen=True)
class Reading:
    at: float
    # CPU seconds, by part.
    cpu: Mapping[str, float]
    wal_bytes: float
    stored_bytes: float


@dataclass(frozen=True)
class Spent:
    """Between two readings, or for one message of many."""

    seconds: float
    cpu: Mapping[str, float]
    wal_bytes: float
    stored_bytes: float

    def without(self, idle: "Spent") -> "Spent":
        """But for what goes on anyway: beat, sweeps, the registry's version."""
        share = self.seconds / idle.seconds
        cpu = {part: max(0.0, spent - share * idle.cpu[part]) for part, spent in self.cpu.items()}
        return Spent(self.seconds, cpu, max(0.0, self.wal_bytes - share * idle.wal_bytes), self.stored_bytes)

    def per(self, messages: int) -> "Spent":
        cpu = {part: spent / messages for part, spent in self.cpu.items()}
        return Spent(self.seconds / messages, cpu, self.wal_bytes / messages, self.stored_bytes / messages)

    def more_than(self, other: "Spent") -> "Spent":
        """What one message costs more than another kind of it."""
        cpu = {part: max(0.0, spent - other.cpu[part]) for part, spent in self.cpu.items()}
        wal, stored = self.wal_bytes - other.wal_bytes, self.stored_bytes - other.stored_bytes
        return Spent(self.seconds, cpu, max(0.0, wal), max(0.0, stored))


def read(broker: Broker) -> Reading:
    cpu = {name: _cpu([process.pid]) for name, process in broker.processes.items()}
    return Reading(time.monotonic(), cpu | _of_services(broker), broker.value(WAL), float(broker.value(STORED)))


def between(begun: Reading, ended: Reading) -> Spent:
    return Spent(
        ended.at - begun.at,
        _by_kind({part: spent - begun.cpu[part] for part, spent in ended.cpu.items()}),
        float(ended.wal_bytes - begun.wal_bytes),
        ended.stored_bytes - begun.stored_bytes,
    )


def _by_kind(cpu: Mapping[str, float]) -> dict[str, float]:
    """Two of a kind count together: worker-delivery-2 is a worker-delivery."""
    kinds: dict[str, float] = {}
    for part, spent in cpu.items():
        kinds[part.removesuffix("-2")] = kinds.get(part.removesuffix("-2"), 0.0) + spent
    return kinds


def _of_services(broker: Broker) -> dict[str, float]:
    postmaster = psutil.Process(broker.value("SELECT pg_backend_pid()")).parent()
    assert postmaster
    with redis.Redis.from_url(broker.plan.urls["REDIS_URL"]) as client:
        return {POSTGRES: _cpu([postmaster.pid]), REDIS: _cpu([client.info("server")["process_id"]])}


def _cpu(pids: Iterable[int]) -> float:
    """With all that they have started, also what has ended since."""
    found = [psutil.Process(pid) for pid in pids]
    ended = sum(process.cpu_times().children_user + process.cpu_times().children_system for process in found)
    alive = [*found, *(child for process in found for child in process.children(recursive=True))]
    return ended + sum(_own(process) for process in alive)


def _own(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return times.user + times.system
