"""manage, key and secrets."""

import argparse
import secrets
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
    fresh = commands.add_parser(
        "secrets", help="make secrets for production", description="Print lines for a production .env."
    )
    fresh.set_defaults(run=_secrets)


def _manage(options: argparse.Namespace) -> int:
    if arguments.asks_for_help(options):
        return 0
    return run_manage("manage", options.arguments)


def _key(options: argparse.Namespace) -> int:
    return run_manage("key", ["create_api_key", "--name", options.name])


def _secrets(_options: argparse.Namespace) -> int:
    sizes = {"SECRET_KEY": 50, "TOKEN_KEYS": 32, "FLOWER_PASSWORD": 24, "POSTGRES_PASSWORD": 24, "REDIS_PASSWORD": 24}
    for name, size in sizes.items():
        print(f"{name}={secrets.token_urlsafe(size)}")
    return 0


def run_manage(command: str, words: list[str]) -> int:
    """In the caller's directory, for the files it may name."""
    with at_hand.services(command) as plan:
        return foreground.run([sys.executable, str(TOP / "manage.py"), *words], plan.environment())
