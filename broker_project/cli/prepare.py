"""The step before the broker starts: migrations, static files and, on the first run, a user, a key and a sample."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from dataclasses import dataclass, field
from signal import SIGKILL

from broker_project.cli import sessions
from broker_project.cli.surroundings import TOP
from broker_project.lib.errors import BrokerError


class NotPrepared(BrokerError):
    """The database could not be prepared."""


@dataclass(frozen=True)
class Prepared:
    """What `manage.py prepare` says. The credentials are shown once and written nowhere."""

    first_run: bool = False
    username: str | None = None
    password: str | None = None
    api_key: str | None = None
    curl: str | None = None
    notes: list[str] = field(default_factory=list)


async def prepare(environment: dict[str, str]) -> Prepared:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "manage.py",
        "prepare",
        stdout=PIPE,
        stderr=PIPE,
        cwd=TOP,
        env=environment,
        start_new_session=True,
    )
    try:
        said, complained = await process.communicate()
    finally:
        sessions.tell(process.pid, SIGKILL)
    if process.returncode:
        raise NotPrepared(f"The broker could not be prepared:\n{complained.decode(errors='replace').strip()}")
    return Prepared(**json.loads(said.decode().splitlines()[-1]))
