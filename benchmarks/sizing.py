"""From what a message costs to what a rate needs. `python -m benchmarks.sizing` writes the tables of docs/sizing.md.

A model of multiplication: a rate times the measured cost of each act, over how busy a core may be. What it leaves out
is said on the page.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.results import RESULTS
from broker_project.cli.surroundings import TOP

SCENARIO = RESULT = "cost"
PAGE = TOP / "docs" / "sizing.md"
# By act, then by part or by what is counted in bytes.
Costs = Mapping[str, Mapping[str, float]]

# How busy a core may be for long: the rest is for peaks, for a part that is replaced, for vacuum.
BUSY = 0.6
# A process of ours uses one core, whatever the machine has.
PROCESSES = ("web", "worker-dispatch", "worker-delivery")
SERVICES = ("postgres", "redis")
# What one PostgreSQL is trusted with here; beyond it channels are spread over several brokers.
MOST_CORES, MOST_WAL_MB = 16, 200
WAL, TABLES = "WAL", "tables"
DAY_SECONDS = 86_400


@dataclass(frozen=True)
class Traffic:
    """Messages a second, and what happens to each."""

    per_second: float
    publish: str = "publish"
    deliveries: float = 1.0
    scheduled: float = 0.0
    leases: float = 0.0

    def acts(self) -> dict[str, float]:
        """How many of each a second."""
        now = self.per_second * (1 - self.scheduled)
        return {
            self.publish: now,
            "schedule": self.per_second * self.scheduled,
            "delivery": self.per_second * self.deliveries,
            "lease and ack": self.per_second * self.leases,
        }


@dataclass(frozen=True)
class Needs:
    processes: Mapping[str, int]
    cores: Mapping[str, float]
    wal_mb_per_second: float
    stored_gb_per_day: float

    @property
    def brokers(self) -> int:
        by_cores = math.ceil(self.cores["postgres"] / MOST_CORES)
        return max(1, by_cores, math.ceil(self.wal_mb_per_second / MOST_WAL_MB))


def needs(costs: Costs, traffic: Traffic) -> Needs:
    """Sum over acts: rate x cost. CPU over BUSY."""

    def total(of: str) -> float:
        return sum(rate * costs[act].get(of, 0.0) for act, rate in traffic.acts().items() if rate)

    cores = {part: total(part) / 1000 / BUSY for part in (*PROCESSES, *SERVICES)}
    processes = {part: max(1, math.ceil(cores[part])) for part in PROCESSES}
    return Needs(processes, cores, total(WAL) / 1e6, total(TABLES) * DAY_SECONDS / 1e9)


def costs_in(found: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """As `./broker bench cost` wrote them."""
    costs: dict[str, dict[str, float]] = {}
    for figure in found["scenarios"][SCENARIO]:
        act, _, of = figure["what"].removeprefix("cost of ").partition(": ")
        costs.setdefault(act, {})[of] = figure["measured"]
    return costs


SHOWN = (
    ("1,000 messages/s, one delivery each", Traffic(1_000)),
    ("1,000 messages/s, five deliveries each", Traffic(1_000, deliveries=5)),
    ("1,000 messages/s, all for later", Traffic(1_000, scheduled=1)),
    ("1,000 messages/s, pulled", Traffic(1_000, deliveries=0, leases=1)),
    ("10,000 messages/s, one delivery each", Traffic(10_000)),
    ("10,000 messages/s, published by 100", Traffic(10_000, publish="publish by 100")),
    ("100,000 messages/s, published by 100", Traffic(100_000, publish="publish by 100")),
)


def tables(found: Mapping[str, Any]) -> dict[str, str]:
    """The page's tables, by their names."""
    costs = costs_in(found)
    return {"machine": _machine(found), "costs": _costs(costs), "needs": _needs(costs)}


def _machine(found: Mapping[str, Any]) -> str:
    machine = found["machine"]
    return (
        f"Measured on {found['taken_at'][:10]}: {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"{machine['system']} {machine['architecture']}, Python {machine['python']}, PostgreSQL {machine['postgres']}, "
        f"Redis {machine['redis']}, all on one machine."
    )


def _costs(costs: Costs) -> str:
    parts = (*PROCESSES, *SERVICES)
    rows = []
    for act, one in costs.items():
        spent = [one.get(part, 0.0) for part in parts]
        rows.append([act, *(f"{ms:.2f}" for ms in (*spent, sum(spent))), *(f"{one[of]:,.0f}" for of in (WAL, TABLES))])
    return _table(["", *(f"{part}, ms" for part in parts), "all, ms", "WAL, bytes", "tables, bytes"], rows)


def _needs(costs: Costs) -> str:
    rows = [[words, *_row(needs(costs, traffic))] for words, traffic in SHOWN]
    headings = ["", "web", "dispatch", "delivery", "PostgreSQL cores", "Redis cores", "WAL, MB/s", "tables, GB/day"]
    return _table([*headings, "brokers"], rows)


def _row(needed: Needs) -> list[str]:
    processes = [str(needed.processes[part]) for part in PROCESSES]
    cores = [f"{needed.cores[part]:.1f}" for part in SERVICES]
    bytes_ = [f"{needed.wal_mb_per_second:,.1f}", f"{needed.stored_gb_per_day:,.0f}"]
    return [*processes, *cores, *bytes_, str(needed.brokers)]


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(headings)
    lines = [heads, ["---", *("---:" for _ in heads[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fill(page: str, found: Mapping[str, Any]) -> str:
    """Between `<!-- name -->` and `<!-- /name -->`."""
    for name, table in tables(found).items():
        begins, ends = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        assert begins in page, f"the page has no place for {name}"
        before, _, rest = page.partition(begins)
        page = f"{before}{begins}{table}\n{ends}{rest.partition(ends)[2]}"
    return page


def read(path: Path = RESULTS / f"{RESULT}.json") -> Any:
    return json.loads(path.read_text())


if __name__ == "__main__":
    PAGE.write_text(fill(PAGE.read_text(), read()))
