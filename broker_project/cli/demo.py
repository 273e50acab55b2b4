"""demo: realistic traffic for a running broker. It takes this process over, and is a client as any other."""

import argparse
import os
import subprocess
import sys

from broker_project.cli import arguments, at_hand, background, lock
from broker_project.cli.plan import Plan
from broker_project.cli.surroundings import TOP, data_dir
from broker_project.lib.errors import BrokerError

DESCRIPTION = """Keep a broker busy until you press Ctrl-C, so that every page has something to show: several channels,
consumers that are healthy, flaky, slow, choosy or dead, consumers that ask, messages for later, recurring schedules.
A broker that is not running is started in the background first, and stays."""

KEY_NAME = "./broker demo"


class NoKey(BrokerError):
    """The demo got no API key."""


def add_to(commands: arguments.Commands) -> None:
    parser = commands.add_parser("demo", help="keep the broker busy, to see it run", description=DESCRIPTION)
    parser.add_argument("--rate", type=_rate, default=20.0, help="messages a second on average (%(default)g)")
    parser.add_argument("--minutes", type=_minutes, help="stop by itself after so many")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same traffic (%(default)s)")
    parser.add_argument("--port", type=arguments.port, default=8000, help="of a broker that has to be started")
    parser.add_argument("--remove", action="store_true", help="remove the demo's channels and consumers; history stays")
    parser.set_defaults(run=_demo)


def _rate(text: str) -> float:
    number = float(text)
    if not 0 < number <= 1_000:
        raise argparse.ArgumentTypeError("must be above 0 and at most 1000")
    return number


def _minutes(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError("must be above 0")
    return number


def _demo(options: argparse.Namespace) -> int:
    plan = _running(options.port)
    environment = {**os.environ, "DEMO_API_KEY": _new_key(plan)}
    command = [sys.executable, "-P", "-m", "broker_project.demo", *_words(options, plan)]
    os.execve(command[0], command, environment)  # noqa: S606


def _running(port: int) -> Plan:
    """The broker of this data directory, started if need be."""
    holder = lock.holder(data_dir())
    if holder is None:
        plan = Plan(data_dir(), port=port, background=True)
        sys.stdout.write(background.start(plan) + "\n")
    elif holder.command != "up":
        raise lock.DataBusy(holder, data_dir())
    return at_hand.running_plan()


def _new_key(plan: Plan) -> str:
    """As ./broker key makes one; that of the last demo is revoked."""
    command = [sys.executable, str(TOP / "manage.py"), "create_api_key", "--name", KEY_NAME, "--replace"]
    done = subprocess.run(command, env=plan.environment(), cwd=TOP, check=False, capture_output=True, text=True)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        raise NoKey(" ".join([str(NoKey.__doc__), *last]))
    return done.stdout.strip().splitlines()[-1]


def _words(options: argparse.Namespace, plan: Plan) -> list[str]:
    words = {"url": plan.web, "flower": plan.flower, "data-dir": str(plan.data_dir)}
    words |= {"rate": f"{options.rate}", "seed": f"{options.seed}"}
    if options.minutes is not None:
        words["minutes"] = f"{options.minutes}"
    return [f"--{name}={value}" for name, value in words.items()] + ["--remove"] * options.remove
