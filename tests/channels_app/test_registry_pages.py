"""Lists of the registry: pages, how it is kept, and what that costs."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from broker_project.api.pagination import Cursor
from channels_app.models import Producer
from tests.channels_app.registry import make_producer, problem, put

pytestmark = pytest.mark.django_db


def test_lists_are_pages_newest_first_that_lead_to_each_other(api: Client) -> None:
    for number in range(60):
        make_producer(f"p{number:02}")

    first = api.get("/producers").json()
    second = api.get(first["pages"]["next"]).json()
    third = api.get(second["pages"]["next"]).json()

    assert [first["result"][0], second["result"][0], third["result"][-1]] == [
        "/producer/p59",
        "/producer/p34",
        "/producer/p00",
    ]
    assert [len(page["result"]) for page in (first, second, third)] == [25, 25, 10]
    assert "prev" not in first["pages"]
    assert "next" not in third["pages"]
    assert api.get(third["pages"]["prev"]).json() == second
    assert api.get(second["pages"]["prev"]).json()["result"] == first["result"]


def test_page_links_keep_the_other_parameters(api: Client) -> None:
    for number in range(3):
        make_producer(f"p{number}")

    link = api.get("/producers?limit=1&x=a%26b").json()["pages"]["next"]

    assert link.startswith("/producers?limit=1&x=a%26b&page=")
    assert len(api.get(link).json()["result"]) == 1


@pytest.mark.parametrize("cursor", ["x", "YTE=junk", "%00", "ü", "a1", "YTk5OTk5OTk5OTk5OTk5OTk5OTk5"])
def test_a_cursor_that_is_not_ours_is_400(api: Client, cursor: str) -> None:
    problem(api.get(f"/producers?page={cursor}"), 400, "bad_cursor")


@pytest.mark.parametrize("limit", ["0", "101", "-1", "a", "", "1e1", "٣"])
def test_a_limit_out_of_range_is_400(api: Client, limit: str) -> None:
    problem(api.get(f"/producers?limit={limit}"), 400, "bad_limit")


def test_tokens_are_sealed_at_rest(api: Client) -> None:
    put(api, "/producer/shop", {"token": "a-very-visible-token"})

    with connection.cursor() as cursor:
        cursor.execute("SELECT token FROM producer")
        stored = cursor.fetchone()[0]

    assert "a-very-visible-token" not in stored
    assert Producer.objects.get().token == "a-very-visible-token"


@pytest.mark.parametrize("count", [1, 80])
def test_a_list_takes_a_constant_number_of_queries(api: Client, django_assert_num_queries: Any, count: int) -> None:
    for number in range(count):
        make_producer(f"p{number}")
    api.get("/producers")

    with django_assert_num_queries(1):
        api.get("/producers")


def test_a_list_of_100_000_producers_reads_no_more_than_its_page(api: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO producer (public_id, name, token) SELECT 'p' || n, 'x', 'x' FROM generate_series(1, 100000) n"
        )
        cursor.execute("ANALYZE producer")

    with CaptureQueriesContext(connection) as first:
        page = api.get("/producers").json()
    with CaptureQueriesContext(connection) as second:
        page = api.get(page["pages"]["next"]).json()
    with CaptureQueriesContext(connection) as back:
        api.get(page["pages"]["prev"])
    middle = Producer.objects.values_list("pk", flat=True).get(public_id="p50000")
    with CaptureQueriesContext(connection) as in_the_middle:
        for after in (True, False):
            api.get("/producers", {"page": Cursor(after=after, row_id=middle).encode()})

    captured = (first, second, back, in_the_middle)
    asked = [one["sql"] for queries in captured for one in queries if "producer" in one["sql"]]
    assert len(asked) == 9
    assert max(map(_rows_read, asked)) <= 26


def _rows_read(sql: str) -> int:
    """How many rows the plan's scan touched, the ones it threw away among them."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")
        [plan] = cursor.fetchone()[0]
    scan = plan["Plan"]["Plans"][0]
    return int(scan["Actual Rows"] + scan.get("Rows Removed by Filter", 0))
