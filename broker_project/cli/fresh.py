"""secrets: fresh ones for production, as lines for .env or as files for Docker to mount."""

import argparse
import os
import secrets
from pathlib import Path

from broker_project.cli import arguments
from broker_project.lib.errors import BrokerError

SIZES = {"SECRET_KEY": 50, "TOKEN_KEYS": 32, "FLOWER_PASSWORD": 24, "POSTGRES_PASSWORD": 24, "REDIS_PASSWORD": 24}
# Where deploy/compose/production.yml has its PostgreSQL and Redis.
URLS = {
    "DATABASE_URL": "postgresql://broker:{POSTGRES_PASSWORD}@postgres:5432/broker",
    "REDIS_URL": "redis://:{REDIS_PASSWORD}@redis:6379/0",
}


class SecretsAreThere(BrokerError):
    """There are secrets in that directory already. Other ones would not open what these have sealed."""


def add_to(commands: arguments.Commands) -> None:
    fresh = commands.add_parser(
        "secrets", help="make secrets for production", description="Print lines for a production .env, or write files."
    )
    fresh.add_argument("--files", type=Path, metavar="DIR", help="write a file for each into this directory instead")
    fresh.set_defaults(run=_secrets)


def _secrets(options: argparse.Namespace) -> int:
    made = {name: secrets.token_urlsafe(size) for name, size in SIZES.items()}
    if options.files is None:
        for name, value in made.items():
            print(f"{name}={value}")
        return 0
    write(options.files, made | {name: url.format(**made) for name, url in URLS.items()})
    print(f"Written to {options.files}. Keep a copy of it in another place: without token_keys no token can be read.")
    return 0


def write(directory: Path, values: dict[str, str]) -> None:
    """The directory is closed to others; a container gets a single file of it, and runs as a user of its own."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    paths = {directory / name.lower(): value for name, value in values.items()}
    if any(path.exists() for path in paths):
        raise SecretsAreThere
    directory.chmod(0o700)
    for path, value in paths.items():
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(value)
        path.chmod(0o444)
