"""Metrics for Prometheus, answered by the frame: they can be read while Django's threads are busy."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

import psycopg
import redis
import structlog
from django.conf import settings
from prometheus_client import exposition
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.registry import Collector
from psycopg_pool import PoolTimeout

import broker_project
from broker_project.api.bearer import bearer
from broker_project.api.exceptions import StorageAway
from broker_project.api.frame import Headers, Request, Route
from broker_project.api.health import CHECK_SECONDS, READS, database_answers
from broker_project.api.reply import Reply
from broker_project.lib.errors import BrokerError

log = structlog.get_logger(__name__)

# Two scrapers cost what one does.
FRESH_SECONDS = 1.0
OPEN_METRICS = "application/openmetrics-text"
_AWAY = (psycopg.Error, PoolTimeout, redis.RedisError, TimeoutError, OSError)

# Takes what came as `Authorization: Bearer`, and says whether it opens the door.
KeyCheck = Callable[[str], Awaitable[bool]]


class NotAuthenticated(BrokerError):
    """Send an API key: Authorization: Bearer <key>."""

    status = 401


@dataclass(frozen=True)
class Source:
    """A few metrics that are read together. One that fails is missing, and the scrape says so."""

    name: str
    read: Callable[[], Awaitable[Sequence[Metric]]]


@dataclass
class Scrape:
    """What was read last, for as long as it is fresh."""

    sources: Sequence[Source]
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    _found: list[Metric] | None = None
    _read_at: float = float("-inf")

    async def metrics(self) -> list[Metric]:
        async with self._reading:
            if time.monotonic() - self._read_at >= FRESH_SECONDS:
                self._found = await self._read()
                self._read_at = time.monotonic()
            if self._found is None:
                raise StorageAway
            return self._found

    async def _read(self) -> list[Metric] | None:
        if not await _database_answers():
            return None
        failing = GaugeMetricFamily("broker_scrape_errors", "1 when this source could not be read.", labels=["source"])
        found: list[Metric] = [_build(), failing]
        # One after another: a scrape takes one of the door's few connections, and no more.
        for source in self.sources:
            read = await _ask(source)
            failing.add_metric([source.name], float(read is None))
            found += read or ()
        return found


@dataclass(frozen=True)
class Found(Collector):
    """The shape in which the library wants its metrics."""

    metrics: Sequence[Metric]

    def collect(self) -> Iterable[Metric]:
        return self.metrics


def routes(sources: Sequence[Source], key_opens: KeyCheck) -> tuple[Route, ...]:
    """A scraper cannot sign its requests: the key will do."""
    return (Route(re.compile("/metrics"), READS, partial(scrape, Scrape(sources), key_opens), signed=False),)


async def scrape(source: Scrape, key_opens: KeyCheck, request: Request) -> Reply:
    if not settings.METRICS_OPEN and not await key_opens(bearer(request.headers)):
        return Reply.problem(NotAuthenticated(), headers=[(b"www-authenticate", b"Bearer")])
    metrics = Found(await source.metrics())
    # Many lines take a while to write: not in the event loop, where publishers wait.
    if OPEN_METRICS in _header(request.headers, b"accept"):
        body = await asyncio.to_thread(openmetrics.generate_latest, metrics)
        return Reply(200, body, f"{OPEN_METRICS}; version=1.0.0; charset=utf-8")
    return Reply(200, await asyncio.to_thread(exposition.generate_latest, metrics), exposition.CONTENT_TYPE_PLAIN_0_0_4)


async def _database_answers() -> bool:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await database_answers()
    except _AWAY as error:
        log.warning("metrics.database_away", error=type(error).__name__)
        return False


async def _ask(source: Source) -> Sequence[Metric] | None:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await source.read()
    except _AWAY as error:
        log.warning("metrics.source_away", source=source.name, error=type(error).__name__)
        return None


def _build() -> Metric:
    family = GaugeMetricFamily("broker_build_info", "Always 1; the version that answers.", labels=["version"])
    family.add_metric([broker_project.__version__], 1)
    return family


def _header(headers: Headers, name: bytes) -> str:
    return b",".join(value for key, value in headers if key == name).decode("latin1")
