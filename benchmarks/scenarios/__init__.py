"""One file a scenario. Each says what it comes to, beside its references and targets."""

from collections.abc import Callable

from benchmarks.bench import Bench
from benchmarks.figures import Figure
from benchmarks.scenarios import deliver, publish

Scenario = Callable[[Bench], list[Figure]]

SCENARIOS: dict[str, Scenario] = {
    "publish": publish.run,
    "deliver": deliver.run,
}
