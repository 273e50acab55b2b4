"""The Querator door for tests."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from psycopg.conninfo import make_conninfo

from channels_app import known
from channels_app.api import keys
from channels_app.models import ApiKey
from channels_app.registry import registry
from scheduling_app.api.querator import door
from tests.scheduling_app.querator.client import Client, Line
from tests.scheduling_app.threads import end_threads

Make = Callable[..., Line]


@pytest.fixture
def client(transactional_db: None, settings: Any) -> Iterator[Client]:
    parameters = connection.get_connection_params()
    settings.DATABASE_URL = make_conninfo(**{name: parameters[name] for name in ("dbname", "user", "host")})
    yield Client(ApiKey.objects.issue(name="tests")[1])
    for threads, number in ((door._threads, door.THREADS), (keys._thread, 1), (known._threads, known.THREADS)):
        end_threads(threads(), number)
        threads.cache_clear()


@pytest.fixture
def long_memory(settings: Any) -> None:
    """What this process has looked up it goes by, whatever others change."""
    settings.REGISTRY_MAX_AGE_SECONDS = 3600.0
    registry.cache_clear()


@pytest.fixture
def make_queue(client: Client) -> Make:
    def make(name: str = "orders", **options: Any) -> Line:
        fields = {"lease_timeout": "1m", "expire_timeout": "24h", "requested_partitions": 1, **options}
        client.call("queues.create", queue_name=name, **fields)
        return Line(client, name)

    return make


@pytest.fixture
def orders(make_queue: Make) -> Line:
    return make_queue()
