"""The receiver's process, from the demo's side."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

STOP_SECONDS = 5.0


@dataclass(frozen=True)
class Seen:
    """What push consumers got, and what they refused on purpose."""

    received: int = 0
    failed: int = 0


@dataclass(frozen=True)
class Receiving:
    url: str
    http: httpx.AsyncClient

    async def seen(self) -> Seen:
        try:
            return Seen(**(await self.http.get(f"{self.url}/seen")).raise_for_status().json())
        except httpx.HTTPError:
            return Seen()


@asynccontextmanager
async def receiving(seed: int) -> AsyncIterator[Receiving]:
    """In a session of its own: a Ctrl-C is for the demo, which ends it when nobody is sent anything any more."""
    command = [sys.executable, "-P", "-m", "broker_project.demo.receiver", str(seed)]
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, start_new_session=True)
    try:
        assert process.stdout is not None
        port = json.loads(await process.stdout.readline())["port"]
        async with httpx.AsyncClient(timeout=5.0) as http:
            yield Receiving(f"http://127.0.0.1:{port}", http)
    finally:
        await _end(process)


async def _end(process: Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
