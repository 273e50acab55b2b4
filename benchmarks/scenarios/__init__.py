"""One file a scenario. Each says what it comes to, beside its references and targets."""

from collections.abc import Callable

from benchmarks.bench import Bench
from benchmarks.figures import Figure
from benchmarks.scenarios import (
    batch,
    claim,
    cost,
    counts,
    dapr,
    dashboard,
    dead,
    deliver,
    hang,
    idle,
    lake,
    memory,
    mixed,
    neighbour,
    prune,
    publish,
    pull,
    retry,
    schedule,
    slow,
)

SCENARIOS: dict[str, Callable[[Bench], list[Figure]]] = {
    "publish": publish.run,
    "batch": batch.run,
    "deliver": deliver.run,
    "mixed": mixed.run,
    "idle": idle.run,
    "hang": hang.run,
    "slow": slow.run,
    "neighbour": neighbour.run,
    "claim": claim.run,
    "counts": counts.run,
    "memory": memory.run,
    "schedule": schedule.run,
    "pull": pull.run,
    "dapr": dapr.run,
    "dead": dead.run,
    "retry": retry.run,
    "prune": prune.run,
    "lake": lake.run,
    "dashboard": dashboard.run,
    "cost": cost.run,
}
