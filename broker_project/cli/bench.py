"""bench: the benchmark takes this process over, as its own packages are installed for it alone."""

import argparse
import os
import sys

from broker_project.cli import arguments

DESCRIPTION = """Measure a whole broker of its own, with PostgreSQL, Redis and workers in a temporary directory, beside
what this machine does without one. Names: publish, batch, deliver, idle, hang, slow, neighbour, claim, counts, memory,
mixed, schedule, pull, dapr, dead, retry, prune, lake, dashboard, cost; all of them without one. --quick runs each
small, --results DIR writes elsewhere than benchmarks/results."""


def add_to(commands: arguments.Commands) -> None:
    arguments.add_passing_on(commands, "bench", help="measure the broker", description=DESCRIPTION, run=_bench)


def _bench(options: argparse.Namespace) -> int:
    if not arguments.asks_for_help(options):
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks", *options.arguments])  # noqa: S606
    return 0
