"""Fixtures for all tests. PostgreSQL and Redis are the real ones that `./broker test` starts."""

from collections.abc import Iterator

import pytest
import redis
from django.conf import settings
from django.test import Client

from broker_project.api.token_bucket import shared_bucket
from channels_app.models import ApiKey
from channels_app.registry import registry

LONGEST = "tests/benchmarks/test_bench.py"


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    """A test's rows are rolled back, and with them the version that tells a process to forget."""
    registry.cache_clear()
    shared_bucket.cache_clear()


@pytest.fixture
def redis_client() -> Iterator[redis.Redis]:
    """This test process's own Redis database, empty."""
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.flushdb()
        yield client


@pytest.fixture
def api_key(db: None) -> str:
    return ApiKey.objects.issue(name="tests")[1]


@pytest.fixture
def api(api_key: str) -> Client:
    """A client that holds an API key."""
    return Client(headers={"Authorization": f"Bearer {api_key}"})


@pytest.fixture
def stranger(db: None) -> Client:
    """A client that holds nothing."""
    return Client()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Folder by folder, so that what a folder shares is started once; but for the one module that takes longest: at the
    end a process would work alone at it.
    """
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> tuple[bool, str]:
    module = item.nodeid.partition("::")[0]
    return module != LONGEST, module


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Browser tests are skipped without a browser; that must not go unseen."""
    skipped = [
        report for report in terminalreporter.stats.get("skipped", []) if "no Chromium found" in str(report.longrepr)
    ]
    if skipped:
        terminalreporter.write_line(
            f"{len(skipped)} browser tests were skipped: no Chromium found. Install one, or set CHROME to its path.",
            yellow=True,
        )
