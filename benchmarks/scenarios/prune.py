"""Pruning: how fast a million finished messages leave the database, and what that costs the traffic beside it."""

import re
import subprocess
import sys
from typing import LiteralString

from benchmarks.bench import Bench
from benchmarks.beside import timed, traffic_during
from benchmarks.broker import WORKERS
from benchmarks.errors import NotMeasured
from benchmarks.figures import Figure, at_least, at_most, ratio_at_most
from benchmarks.scenarios.dead import moderate, traffic
from broker_project.cli.surroundings import TOP

# As an export leaves it, which is measured elsewhere: everything there is, in a slice a table.
EXPORTED: LiteralString = """
INSERT INTO lake_slice (kind, first_id, last_id, row_count, checksum, path)
SELECT kind, 1, last_id, 0, 0, 'of-' || kind FROM (
    VALUES (1, (SELECT max(id) FROM message)), (2, (SELECT max(id) FROM delivery_job)),
           (3, (SELECT max(id) FROM scheduled_message)), (4, (SELECT max(id) FROM delivery_attempt)),
           (5, (SELECT max(id) FROM dead_letter_act))
) AS last (kind, last_id) WHERE last_id IS NOT NULL
"""
KEPT_A_DAY: LiteralString = "UPDATE channel SET retention_days = 1 WHERE public_id LIKE 'history-%'"
KEPT: LiteralString = "UPDATE channel SET retention_days = NULL WHERE public_id LIKE 'history-%'"
RATE = re.compile(r"(\d+) rows/s")


def run(bench: Bench) -> list[Figure]:
    """The same traffic twice, on channels of its own: alone, and for as long as history is pruned."""
    broker, per_second = bench.broker, moderate(bench)
    broker.database.execute(KEPT)
    made = timed(lambda: _manage(bench, "make_history", f"--messages={bench.size(1_000_000, 5_000)}", "--days=30"))
    broker.database.execute(EXPORTED)
    with broker.running(*WORKERS):
        traffic(bench, "/ok/warm", per_second, seconds=bench.size(5.0, 1.0))
        alone, _ = traffic(bench, "/ok/alone", per_second, seconds=bench.size(20.0, 2.0))
        # Not before: a sweep would have begun with it.
        broker.database.execute(KEPT_A_DAY)
        beside = traffic_during(bench, "/ok/beside", per_second, lambda: timed(lambda: _prune(bench)))
    return [
        Figure("make_history, 1 M messages", "s", made.ended - made.began, target=at_most(60.0)),
        Figure("prune, beside traffic at 30 %", "rows/s", beside.said, target=at_least(10_000.0)),
        Figure("prune, traffic at 30 % beside it, p99", "ms", beside.p99_ms, alone, "alone", ratio_at_most(2.0)),
        Figure("backlog left at the end of a prune", "messages", beside.left, target=at_most(per_second)),
    ]


def _prune(bench: Bench) -> float:
    said = _manage(bench, "prune")
    found = RATE.search(said)
    if found is None:
        raise NotMeasured(f"The pruning said: {said}")
    return float(found[1])


def _manage(bench: Bench, *words: str) -> str:
    command = [sys.executable, "manage.py", *words]
    done = subprocess.run(command, cwd=TOP, env=bench.broker.environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotMeasured(f"{' '.join(words)} failed: {done.stderr[-500:]}")
    return done.stdout
