"""manage and key."""

import argparse
import sys

from broker_project.cli import arguments, at_hand, foreground
from broker_project.cli.surroundings import TOP


def add_to(commands: arguments.Commands) -> None:
    arguments.add_passing_on(
        commands,
        "manage",
        help="run manage.py in the broker's environment",
        description="Run manage.py in the broker's environment. Its database is started for it if need be.",
        run=_manage,
    )
    key = commands.add_parser(
        "key", help="make an API key", description="Make an API key, printed alone on the last line."
    )
    key.add_argument("--name", default="command line", help="what it is for (%(default)s)")
    key.set_defaults(run=_key)


def _manage(options: argparse.Namespace) -> int:
    if arguments.asks_for_help(options):
        return 0
    return run_manage("manage", options.arguments)


def _key(options: argparse.Namespace) -> int:
    return run_manage("key", ["create_api_key", "--name", options.name])


def run_manage(command: str, words: list[str]) -> int:
    """In the caller's directory, for the files it may name."""
    with at_hand.services(command) as plan:
        return foreground.run([sys.executable, str(TOP / "manage.py"), *words], plan.environment())
