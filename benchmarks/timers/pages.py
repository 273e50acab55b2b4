"""Times pages of the admin: asks for them as a superuser, in this process, and counts the queries."""

import json
import sys
import time
from statistics import median
from typing import Any

import django

django.setup()

from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext


def main(told: dict[str, Any]) -> None:
    user, _ = get_user_model().objects.get_or_create(username="bench", is_staff=True, is_superuser=True)
    client = Client(SERVER_NAME="localhost")
    client.force_login(user)
    print(json.dumps({path: _page(client, path, told["times"]) for path in told["paths"]}))


def _page(client: Client, path: str, times: int) -> dict[str, float]:
    # The first one fills caches.
    _once(client, path)
    with CaptureQueriesContext(connection) as queries:
        _once(client, path)
    # Now: the next request forgets them.
    asked = len(queries)
    return {"median_ms": median(_once(client, path) for _ in range(times)), "queries": asked}


def _once(client: Client, path: str) -> float:
    began = time.perf_counter()
    answer = client.get(path)
    took = (time.perf_counter() - began) * 1000
    assert answer.status_code == 200, answer.status_code
    return took


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
