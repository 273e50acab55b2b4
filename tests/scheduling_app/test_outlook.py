"""What is due over the next hours: counted up to a limit, never read to its end."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from channels_app.models import Channel, Producer
from scheduling_app import dispatch, outlook
from scheduling_app.admin.picture import picture
from scheduling_app.models import ScheduledMessage, ScheduledStatus
from tests.channels_app.messages import nodes_of
from tests.channels_app.registry import make_channel, make_producer
from tests.channels_app.staff import pages
from tests.scheduling_app.later import make_scheduled
from tests.scheduling_app.test_admin_scheduled import fill

pytestmark = pytest.mark.django_db

NOW = datetime(2030, 5, 6, 10, 20, tzinfo=UTC)


@pytest.fixture
def channel() -> Channel:
    return make_channel("orders")


@pytest.fixture
def producer() -> Producer:
    return make_producer("shop")


def make(channel: Channel, producer: Producer, *minutes: float) -> None:
    for place, minute in enumerate(minutes):
        make_scheduled(channel, producer, f"{place}", scheduled_for=NOW + timedelta(minutes=minute))


def test_hours_are_those_of_the_clock_and_the_first_is_what_is_left_of_it(channel: Channel, producer: Producer) -> None:
    make(channel, producer, -1, -600, 0, 39.9, 40, 99.9, 100, 23 * 60 + 39.9, 23 * 60 + 40, 40_000)
    for status in (ScheduledStatus.DISPATCHED, ScheduledStatus.CANCELLED):
        make_scheduled(channel, producer, status.name, scheduled_for=NOW, status=status)

    seen = outlook.outlook(NOW)

    assert seen.overdue.count == 2
    assert [hour.count for hour in seen.hours] == [2, 2, 1, *[0] * 20, 1]
    assert (seen.hours[0].since.hour, seen.hours[-1].since) == (10, datetime(2030, 5, 7, 9, tzinfo=UTC))
    assert (seen.total, seen.busiest.since.hour, seen.is_more) == (6, 10, False)


def test_a_crowded_hour_is_counted_up_to_a_limit(
    channel: Channel, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outlook, "MOST_IN_AN_HOUR", 2)
    monkeypatch.setattr(outlook, "_COUNTED", outlook._COUNTED.replace("LIMIT 5000", "LIMIT 2"))
    make(channel, producer, 1, 2, 3, 45, -1, -2, -3)
    shown = picture(outlook.outlook(NOW))
    assert [bar.count for bar in shown["bars"][:3]] == ["2 or more", "1", "0"]
    assert [bar.height for bar in shown["bars"][:3]] == [100, 50, 0]
    assert shown["overdue"] == "2 or more"
    assert shown["words"] == "3 or more in all; most, 2 or more, from 10:00 UTC."


def read_by(statement: str, parameters: dict[str, Any]) -> set[tuple[str, int]]:
    """The indexes that a statement reads, and how many rows it finds in each."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters)
        [plan] = cursor.fetchone()[0]
    nodes = [node for node in nodes_of(plan["Plan"]) if node.get("Relation Name") == "scheduled_message"]
    return {(node.get("Index Name", "none"), round(node["Actual Rows"] * node["Actual Loops"])) for node in nodes}


def test_next_month_is_not_looked_at(channel: Channel, producer: Producer) -> None:
    fill(channel, producer)
    now = datetime.now(UTC)
    window = {"after": now, "after_id": 0, "until": now + timedelta(days=7), "most": 51}
    hours = {"since": [now], "until": [now + timedelta(hours=1)]}
    assert read_by(outlook._COUNTED, hours) == {("scheduled_due_all", 0)}
    assert read_by(outlook._DUE, window) == {("scheduled_due_all", 0)}
    assert read_by(outlook._DUE_IN_CHANNEL, {**window, "channel": channel.pk}) == {("scheduled_due", 0)}


def test_a_page_of_many_that_are_due_reads_no_more_than_it_shows(channel: Channel, producer: Producer) -> None:
    fill(channel, producer)
    window = {"after": outlook.EVER, "after_id": 0, "until": NOW.replace(year=2200), "most": 51}
    assert read_by(outlook._DUE, window) == {("scheduled_due_all", 51)}
    assert read_by(outlook._DUE_IN_CHANNEL, {**window, "channel": channel.pk}) == {("scheduled_due", 51)}


def test_a_lane_is_not_looked_for_among_what_waits_in_all_channels(channel: Channel, producer: Producer) -> None:
    """Where one channel has nearly every row, the shorter index would look as good, and be read to its end."""
    fill(channel, producer)
    statement = "PREPARE lane (bigint) AS " + dispatch._NEXT.replace("%(channel)s", "$1").replace("%(partition)s", "0")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        cursor.execute(statement.replace("%(now)s", "now()"))
        cursor.execute("EXPLAIN EXECUTE lane (1)")
        plan = "\n".join(row[0] for row in cursor.fetchall())
        cursor.execute("DEALLOCATE lane")
    assert "using scheduled_due on" in plan


def test_the_list_shows_the_picture_on_its_first_page(
    admin_client: Client, channel: Channel, producer: Producer
) -> None:
    empty = admin_client.get(pages(ScheduledMessage)).content.decode()
    assert "Nothing is due in the next 24 hours." in empty
    assert "Overdue:" not in empty
    make_scheduled(channel, producer, "late", scheduled_for=datetime.now(UTC) - timedelta(minutes=1))
    make_scheduled(channel, producer, "soon", scheduled_for=datetime.now(UTC) + timedelta(hours=2))
    shown = admin_client.get(pages(ScheduledMessage)).content.decode()
    assert shown.count("outlook-hour") == 24
    assert "1 in all; most, 1, from" in shown
    assert f'href="{pages(ScheduledMessage)}?due=overdue">Overdue: 1</a>' in shown
    assert "outlook-hour" not in admin_client.get(pages(ScheduledMessage), {"p": "1"}).content.decode()
