"""Health, answered by the frame: it works while Django's threads are busy and when the database is away."""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import psycopg
import redis
import redis.asyncio
import structlog
from django.conf import settings
from psycopg_pool import PoolTimeout

import broker_project
from broker_project.api import ending
from broker_project.api.door_pool import door_pool
from broker_project.api.frame import Request, Route
from broker_project.api.reply import Reply

CHECK_SECONDS = 2.0
READS = ("GET", "HEAD")

log = structlog.get_logger(__name__)
STARTED_AT = datetime.now(UTC)
_AWAY = (psycopg.Error, PoolTimeout, redis.RedisError, TimeoutError, OSError)


@dataclass(frozen=True)
class Check:
    """One thing the broker needs. Without an essential one it cannot accept messages; without another it is late."""

    name: str
    ask: Callable[[], Awaitable[bool]]
    essential: bool = False


async def database_answers() -> bool:
    async with door_pool().connection(timeout=CHECK_SECONDS) as connection:
        await connection.execute("SELECT 1")
    return True


async def redis_answers() -> bool:
    async with redis.asyncio.Redis.from_url(
        settings.REDIS_URL, socket_timeout=1.0, socket_connect_timeout=1.0
    ) as client:
        return bool(await client.ping())


async def status(_request: Request) -> Reply:
    """What this is, and since when it runs."""
    seconds = (datetime.now(UTC) - STARTED_AT).total_seconds()
    started = STARTED_AT.isoformat(timespec="seconds").replace("+00:00", "Z")
    return _json(
        200,
        {
            "name": "message broker",
            "version": broker_project.__version__,
            "startedAt": started,
            "uptimeSeconds": int(seconds),
        },
    )


async def alive(_request: Request) -> Reply:
    return _json(200, {"status": "alive"})


CHECKS = (Check("database", database_answers, essential=True), Check("redis", redis_answers))


def routes(checks: Sequence[Check]) -> tuple[Route, ...]:
    """The health addresses; readiness asks the checks that the apps bring."""
    return (
        Route(re.compile("/_status"), READS, status),
        Route(re.compile("/healthz"), READS, alive, signed=False),
        Route(re.compile("/readyz"), READS, partial(ready, checks), signed=False),
    )


async def ready(checks: Sequence[Check], request: Request) -> Reply:
    """503 when messages cannot be accepted, or soon not here. Late delivery is 200 `degraded`, or 503 with `?strict`.

    Taking every web server out because a worker is down would turn a delay into an outage.
    """
    if ending.has_begun():
        return _json(503, {"status": "stopping", "checks": {}})
    states = dict(zip((check.name for check in checks), await asyncio.gather(*map(is_well, checks)), strict=True))
    missing = [check for check in checks if not states[check.name]]
    down = any(check.essential for check in missing)
    word = "unavailable" if down else "degraded" if missing else "ready"
    refuse = down or (missing and b"strict" in request.query)
    return _json(
        503 if refuse else 200, {"status": word, "checks": {k: "ok" if v else "failing" for k, v in states.items()}}
    )


async def is_well(check: Check) -> bool:
    began = time.perf_counter()
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await check.ask()
    except _AWAY as error:
        seconds = round(time.perf_counter() - began, 2)
        log.warning("health.failing", check=check.name, error=type(error).__name__, seconds=seconds)
        return False


def _json(code: int, body: Mapping[str, object]) -> Reply:
    retry = [(b"retry-after", b"2")] if code == 503 else []
    return Reply(code, json.dumps(body).encode(), headers=retry)
