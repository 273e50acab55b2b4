"""Runs the scenarios: `./broker bench [NAME …] [--quick]`."""

import argparse
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import plot, results, sizing, table
from benchmarks.bench import Bench
from benchmarks.broker import brokers
from benchmarks.figures import Figure
from benchmarks.receivers import receiving
from benchmarks.scenarios import SCENARIOS
from broker_project.lib.errors import BrokerError


def main(words: list[str]) -> int:
    options = _parser().parse_args(words)
    # Asked to end, end by unwinding: everything that was started is stopped on the way.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    names = options.names or list(SCENARIOS)
    try:
        with brokers() as broker, receiving() as receiver:
            figures = _measure(Bench(broker, receiver, options.quick), names)
            machine = results.machine(broker)
    except (BrokerError, OSError) as error:
        print(f"broker: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    found = [figure for several in figures.values() for figure in several]
    print(f"\n{table.write(found)}\n")
    now = datetime.now(UTC)
    _keep(options.results, _names(options, now), results.as_json(figures, machine, now, quick=options.quick), found)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="broker bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *SCENARIOS], help=", ".join(SCENARIOS))
    parser.add_argument("--quick", action="store_true", help="small, to see that it works; the numbers mean nothing")
    parser.add_argument("--results", type=Path, default=results.RESULTS, metavar="DIR", help="where the files go")
    return parser


def _measure(bench: Bench, names: list[str]) -> dict[str, list[Figure]]:
    figures = {}
    for name in names:
        began = time.monotonic()
        print(f"{name} …", end="", flush=True)
        bench.broker.wipe()
        figures[name] = SCENARIOS[name](bench)
        print(f" {time.monotonic() - began:.0f} s", flush=True)
    return figures


def _names(options: argparse.Namespace, now: datetime) -> list[str]:
    """A whole run is kept under its date too; a quick one or a part of one must not pass for it."""
    if options.quick:
        return ["quick"]
    if options.names == [sizing.SCENARIO]:
        return [sizing.RESULT]
    return ["partial"] if options.names else ["latest", f"{now:%Y-%m-%d-%H%M}"]


def _keep(directory: Path, names: list[str], text: str, figures: list[Figure]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        (directory / f"{name}.json").write_text(text)
    if any(figure.target for figure in figures):
        plot.draw(figures, directory / f"{names[0]}.png")
    print(f"Written to {directory / names[0]}.json")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
