"""Counts of a channel's messages."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from broker_project.lib.conditions import Condition
from channels_app import services
from channels_app.delivery.sweeps import fold_counters
from tests.channels_app.messages import dispatch, make_messages, rows_touched
from tests.channels_app.registry import make_channel, problem

pytestmark = pytest.mark.django_db
PATH = "/channel/orders/messages-status"


def counts(client: Client, **headers: str) -> dict[str, int]:
    body = client.get(PATH, headers={name.replace("_", "-"): value for name, value in headers.items()}).json()
    return {state: part["count"] for state, part in body["counts"].items()}


def test_a_channel_without_messages_has_every_count(api: Client) -> None:
    make_channel()

    assert api.get(PATH).json() == {
        "counts": {
            "ACKNOWLEDGED": {"count": 0, "links": {"messages": "/channel/orders/messages?status=100"}},
            "DISPATCHED": {"count": 0, "links": {"messages": "/channel/orders/messages?status=101"}},
            "SCHEDULED": {"count": 0, "links": {"messages": "/channel/orders/scheduled-messages?status=100"}},
            "SCHEDULED_DISPATCHED": {
                "count": 0,
                "links": {"messages": "/channel/orders/scheduled-messages?status=101"},
            },
        },
        "next_scheduled_message_at": None,
    }


def test_following_a_link_finds_as_many_as_were_counted(api: Client) -> None:
    channel = make_channel()
    make_messages(make_channel("other"), "not-mine")
    make_messages(channel, *(f"d{number}" for number in range(30)))
    dispatch(channel)
    make_messages(channel, "a1", "a2", "a3")

    status = api.get(PATH).json()["counts"]

    assert (status["ACKNOWLEDGED"]["count"], status["DISPATCHED"]["count"]) == (3, 30)
    for state in ("ACKNOWLEDGED", "DISPATCHED"):
        assert len(followed(api, status[state]["links"]["messages"])) == status[state]["count"]


def followed(client: Client, link: str) -> list[str]:
    page = client.get(link).json()
    more = followed(client, page["pages"]["next"]) if "next" in page["pages"] else []
    return page["result"] + more


def test_counts_are_the_same_before_and_after_they_are_folded(api: Client) -> None:
    channel = make_channel()
    make_messages(channel, "a", "b")
    before = counts(api)

    fold_counters()
    make_messages(channel, "c")

    assert before["ACKNOWLEDGED"] == 2
    assert counts(api)["ACKNOWLEDGED"] == 3


def test_the_channels_token_opens_it_and_another_does_not(stranger: Client) -> None:
    make_messages(make_channel(token="open"), "a")

    assert counts(stranger, X_Broker_Channel_Token="open")["ACKNOWLEDGED"] == 1
    problem(stranger.get(PATH, headers={"X-Broker-Channel-Token": "wrong"}), 403, "wrong_token")
    problem(stranger.get(PATH), 401, "not_authenticated")


def test_an_unknown_channel_is_404_and_a_deleted_one_is_history(api: Client, stranger: Client) -> None:
    problem(api.get(PATH), 404, "unknown_channel")
    channel = make_channel(token="open")
    make_messages(channel, "a")

    services.delete(channel, condition=Condition(etags=frozenset({channel.etag})))

    assert counts(api)["ACKNOWLEDGED"] == 1
    problem(stranger.get(PATH, headers={"X-Broker-Channel-Token": "open"}), 404, "unknown_channel")
    make_channel()
    assert counts(api)["ACKNOWLEDGED"] == 0


def test_counting_reads_a_few_rows_whatever_the_others_have(api: Client, django_assert_num_queries: Any) -> None:
    make_messages(make_channel(), "a")
    fold_counters()
    make_messages(make_channel("other"), *(f"m{number}" for number in range(500)))
    with connection.cursor() as cursor:
        for table in ("counter", "counter_delta"):
            rows = "SELECT 1 + n % 2, 1000000 + n, 0, 100, '', n FROM generate_series(1, 50000) n"
            cursor.execute(f"INSERT INTO {table} (kind, channel_id, consumer_id, status, reason, count) {rows}")
            cursor.execute(f"ANALYZE {table}")
    api.get(PATH)

    with django_assert_num_queries(2), CaptureQueriesContext(connection) as asked:
        api.get(PATH)

    [counting] = [query["sql"] for query in asked if "counter" in query["sql"]]
    assert "message" not in counting
    assert rows_touched(counting) <= 2
