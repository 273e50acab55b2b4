"""GET /alerts: what is wrong now, and what was."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from channels_app.models import Channel, Consumer
from tests.channels_app.alerts.episodes import make_alert
from tests.channels_app.registry import make_channel, problem

pytestmark = pytest.mark.django_db


def test_alerts_are_listed_the_newest_first(api: Client, channel: Channel, consumer: Consumer) -> None:
    over = make_alert(channel, ended_at=timezone.now())
    waiting = make_alert(
        channel, consumer=consumer, rule="Consumer behind", kind="oldest_waiting", threshold=300, value=301.23456
    )
    still = make_alert(None, kind="no_progress", part="beat", threshold=60, value=61)

    shown = api.get("/alerts").json()["result"]
    assert [one["id"] for one in shown] == [still.pk, waiting.pk, over.pk]
    assert shown[0] | {"beganAt": None} == {
        "id": still.pk,
        "rule": "Many dead letters",
        "kind": "no_progress",
        "channel": None,
        "consumer": None,
        "part": "beat",
        "threshold": 60,
        "value": 61,
        "text": "beat has done nothing for more than 1 minute.",
        "beganAt": None,
        "endedAt": None,
    }
    assert (shown[1]["channel"], shown[1]["consumer"], shown[1]["value"]) == ("orders", "billing", 301.235)
    assert shown[2]["endedAt"] is not None


def test_they_are_asked_for_by_state_and_page(api: Client) -> None:
    over = [make_alert(make_channel(f"c{number}"), ended_at=timezone.now()).pk for number in range(3)]
    is_open = make_alert(make_channel())
    assert [one["id"] for one in api.get("/alerts", {"state": "open"}).json()["result"]] == [is_open.pk]

    first = api.get("/alerts?state=over&limit=2").json()
    rest = api.get(first["pages"]["next"]).json()
    assert [one["id"] for one in first["result"] + rest["result"]] == over[::-1]


def test_what_is_only_suspected_is_not_told(api: Client, channel: Channel) -> None:
    make_alert(channel, began_at=None)
    assert api.get("/alerts").json() == {"result": [], "pages": {}}


def test_a_page_costs_the_same_however_many_there_are(api: Client) -> None:
    spent = []
    for count in (1, 20):
        for number in range(count):
            make_alert(make_channel(f"c{count}-{number}"))
        with CaptureQueriesContext(connection) as queries:
            api.get("/alerts")
        # What a process knows of keys is read anew now and then.
        spent.append(sum('FROM "alert"' in query["sql"] or 'FROM "channel"' in query["sql"] for query in queries))
    assert spent == [2, 2]


@pytest.mark.parametrize("query", [{"state": "stone"}, {"limit": "0"}, {"page": "x"}])
def test_a_bad_question_is_refused(api: Client, query: dict[str, str]) -> None:
    assert api.get("/alerts", query).status_code == 400


def test_it_needs_a_key(stranger: Client) -> None:
    problem(stranger.get("/alerts"), 401, "not_authenticated")
