"""The commands of ./broker, family by family."""

import argparse
import io
import os
import signal
import sys

from broker_project.cli import (
    bench,
    checks,
    data,
    demo,
    docs,
    fresh,
    lake,
    logs,
    manage,
    report,
    running,
    status,
    surroundings,
)
from broker_project.cli.arguments import explain
from broker_project.lib.errors import BrokerError

FAMILIES = (running, demo, status, logs, manage, fresh, report, lake, data, checks, docs, bench)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="broker", description="A message broker with a clock.")
    commands = top.add_subparsers(title="commands", metavar="COMMAND")
    for family in FAMILIES:
        family.add_to(commands)
    return top


def main(words: list[str]) -> int:
    options = parser().parse_args(words)
    if "run" not in options:
        parser().print_help()
        return 0
    _behave()
    try:
        surroundings.load()
        return int(options.run(options))
    except BrokenPipeError:
        # `./broker logs | head`: nobody reads on, and Python's own last flush must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (BrokerError, OSError) as error:
        print(f"broker: {explain(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _behave() -> None:
    """Asked to end, end by unwinding: services that were started for a command are stopped on the way."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: sys.exit(128 + number))
    # What a part says may not exist in the terminal's alphabet.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
