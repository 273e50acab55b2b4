"""Both Compose files as Docker reads them: anchors resolved, commands as words."""

import shlex
from typing import Any

import yaml

from tests.deploy.knobs import TOP

Service = dict[str, Any]

COMPOSE: dict[str, Any] = yaml.safe_load((TOP / "docker-compose.yml").read_text())
SERVICES: dict[str, Service] = COMPOSE["services"]
# Those that run our image; the others are PostgreSQL's and Redis's own.
OURS = {name: service for name, service in SERVICES.items() if "build" in service}
# Those for real traffic, with a proxy.
PRODUCTION_FILE = TOP / "deploy" / "compose" / "production.yml"
PRODUCTION_COMPOSE: dict[str, Any] = yaml.safe_load(PRODUCTION_FILE.read_text())
PRODUCTION: dict[str, Service] = PRODUCTION_COMPOSE["services"]
WORKERS = {name: service for name, service in OURS.items() if " worker " in service["command"]}


def words(service: Service) -> list[str]:
    return shlex.split(service["command"])


def option(arguments: list[str], flag: str) -> str | None:
    """The word after a flag."""
    return arguments[arguments.index(flag) + 1] if flag in arguments else None
