"""A part with everything said: the words, the environment and the account that a child process is made from."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from broker_project.cli.parts import BY_NAME, Part
from broker_project.cli.plan import Plan
from broker_project.cli.surroundings import TOP
from broker_project.embedded import Service
from broker_project.embedded.account import ENVIRONMENT


@dataclass(frozen=True)
class Launch:
    part: Part
    argv: list[str]
    environment: dict[str, str]
    address: str
    cwd: Path
    # Given the seconds that the process has lived; asked until it says yes.
    ready: Callable[[float], bool]
    # Done before every start, and may refuse.
    prepare: Callable[[], None] = lambda: None
    run_as: dict[str, Any] = field(default_factory=dict)


def of_part(part: Part, plan: Plan) -> Launch:
    environment = plan.environment() | _mark(part, plan)
    names = _names(plan) | {"redis_url": environment["REDIS_URL"]}
    argv = [sys.executable, *(word.format(**names) for word in part.command.split())]
    address = part.address.format(**names)
    return Launch(part, argv, environment, address, TOP, ready=lambda lived: part.ready(names, lived))


def of_service(name: str, service: Service, plan: Plan) -> Launch:
    part = BY_NAME[name]
    return Launch(
        part,
        service.command(),
        ENVIRONMENT | _mark(part, plan),
        str(service.sockets),
        Path("/"),
        ready=lambda _lived: service.answers(),
        prepare=service.prepare,
        run_as=service.account.run_as,
    )


def _mark(part: Part, plan: Plan) -> dict[str, str]:
    """By these a process of a crashed manager is known, even one it had no time to write down."""
    return {"BROKER_DATA_DIR": str(plan.data_dir), "BROKER_PART": part.name}


def _names(plan: Plan) -> dict[str, str]:
    return {
        "host": plan.host,
        "port": str(plan.port),
        "flower_port": str(plan.port + 1),
        "echo_port": str(plan.port + 2),
        "grpc_port": str(plan.port + 3),
        "web": plan.web,
        "flower": plan.flower,
        "echo": plan.echo,
        "grpc": plan.grpc,
        "node": plan.node,
    }
