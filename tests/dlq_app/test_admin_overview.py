"""The overview of dead letters: by cause, by consumer, by time, at a price that does not grow."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from channels_app.models import Consumer, Producer
from dlq_app import causes, overview
from dlq_app.filters import LetterFilter
from dlq_app.models import DeadLetter
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.channels_app.test_admin_messages import plan
from tests.dlq_app.letters import make_dead

pytestmark = pytest.mark.django_db
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def producer() -> Producer:
    return make_producer()


@pytest.fixture
def consumer() -> Consumer:
    return make_consumer(make_channel())


def see(client: Client) -> Any:
    answer = client.get(reverse("admin:dlq_app_deadletter_overview"))
    assert answer.status_code == 200
    return answer


def dead(consumer: Consumer, producer: Producer, count: int, *, ago: timedelta = timedelta(), **attempt: Any) -> None:
    for _ in range(count):
        letter = make_dead(consumer, producer, **attempt)
        DeadLetter.objects.filter(pk=letter.pk).update(entered_at=timezone.now() - ago)


def test_letters_are_grouped_by_cause_and_the_biggest_comes_first(consumer: Consumer, producer: Producer) -> None:
    dead(consumer, producer, 1, reason="dns", error="unknown name", ago=3 * HOUR)
    dead(consumer, producer, 1, reason="timeout", error="no answer after 31 s", ago=3 * DAY)
    dead(consumer, producer, 1, reason="timeout", error="no answer after 32 s")

    found = causes.causes(LetterFilter())

    assert [(cause.reason, cause.error, cause.count) for cause in found.found] == [
        ("timeout", "no answer after 32 s", 2),
        ("dns", "unknown name", 1),
    ]
    assert timezone.now() - found.found[0].first_at > 2 * DAY
    assert (found.looked_at, found.is_complete) == (3, True)


def test_the_way_to_the_page_ends_with_its_name(admin_client: Client) -> None:
    shown = see(admin_client).content.decode()
    listed = reverse("admin:dlq_app_deadletter_changelist")
    assert re.search(rf'<a href="{listed}">Dead letters</a><span [^>]*>chevron_right</span>Overview', shown)


def test_the_page_says_when_it_has_looked_at_a_part_only(
    admin_client: Client, consumer: Consumer, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(causes, "LOOKED_AT", 2)
    dead(consumer, producer, 3)
    assert "Of the newest 2 open letters" in see(admin_client).content.decode()


def test_consumers_are_told_from_counters(admin_client: Client, consumer: Consumer, producer: Producer) -> None:
    dead(consumer, producer, 2)
    dead(make_consumer(consumer.channel, "mail"), producer, 3)

    shown = see(admin_client).context

    assert [(row["holder"].consumer, row["holder"].count) for row in shown["holders"]] == [("mail", 3), ("billing", 2)]
    assert shown["total"] == 5


def test_the_pictures_show_when_letters_entered(admin_client: Client, consumer: Consumer, producer: Producer) -> None:
    for count, ago in ((1, timedelta()), (2, 5 * HOUR + HOUR / 2), (3, 2 * DAY), (4, 30 * DAY)):
        dead(consumer, producer, count, ago=ago)

    growth, ages = overview.growth_and_age(timezone.now())

    assert [span.count for span in ages] == [1, 2, 3, 4]
    assert [span.count for span in growth] == [*[0] * 18, 2, 0, 0, 0, 0, 1]
    shown = see(admin_client).context
    assert shown["grown"] == "3"
    assert [bar.size for bar in shown["ages"]] == [25, 50, 75, 100]


def test_a_stretch_with_too_many_to_count_is_told_by_its_ids(consumer: Consumer, producer: Producer) -> None:
    make_dead(consumer, producer)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO dead_letter (job_id, message_id, channel_id, consumer_id, reason, error, fingerprint,"
            " attempts) SELECT -n, 1, %s, %s, 'dns', 'away', 1, 1 FROM generate_series(1, 1500) AS n",
            [consumer.channel_id, consumer.pk],
        )
    _, ages = overview.growth_and_age(timezone.now())
    assert ages[0].is_about
    assert ages[0].count == pytest.approx(1501, abs=5)


def test_the_overview_costs_the_same_however_many_letters(
    admin_client: Client, consumer: Consumer, producer: Producer
) -> None:
    spent = []
    for count in (1, 10):
        for number in range(count):
            dead(make_consumer(consumer.channel, f"k{count}-{number}"), producer, 1, error=f"error {'x' * number}")
        with CaptureQueriesContext(connection) as queries:
            see(admin_client)
        spent.append(len(queries))
    assert spent[0] == spent[1] < 10


def test_reasons_and_channels_are_counted_in_all(
    admin_client: Client, consumer: Consumer, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few are looked at for their causes."""
    monkeypatch.setattr(causes, "LOOKED_AT", 1)
    dead(consumer, producer, 2, reason="timeout")
    dead(make_consumer(make_channel("invoices")), producer, 1, reason="dns")

    shown = see(admin_client).context

    assert [(row["total"].name, row["total"].count) for row in shown["reasons"]] == [("timeout", 2), ("dns", 1)]
    assert [(row["total"].name, row["total"].count) for row in shown["channels"]] == [("orders", 2), ("invoices", 1)]


def test_a_resolved_letter_is_in_no_picture(consumer: Consumer, producer: Producer) -> None:
    dead(consumer, producer, 2)
    DeadLetter.objects.update(resolution="discarded", resolved_at=timezone.now())
    assert causes.causes(LetterFilter()).found == []
    assert overview.holders().total == 0
    assert sum(span.count for span in overview.growth_and_age(timezone.now())[1]) == 0


def fill(consumer: Consumer, count: int = 20_000) -> None:
    """Rows that make a plan worth something: a second apart, of a thousand causes, one in four resolved."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO dead_letter (job_id, message_id, channel_id, consumer_id, reason, error, fingerprint,"
            " attempts, entered_at, resolution, resolved_at) SELECT -n, n, %s, %s, 'dns', 'away ' || n, n %% 1000, 1,"
            " now() - (%s - n) * interval '1 second', CASE WHEN n %% 4 = 0 THEN 'discarded' END,"
            " CASE WHEN n %% 4 = 0 THEN now() END FROM generate_series(1, %s) AS n",
            [consumer.channel_id, consumer.pk, count, count],
        )
        cursor.execute("ANALYZE dead_letter")


def test_no_page_reads_all_letters(admin_client: Client, consumer: Consumer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(causes, "LOOKED_AT", 1_000)
    fill(consumer)
    listed = reverse("admin:dlq_app_deadletter_changelist")
    addresses = [
        reverse("admin:dlq_app_deadletter_overview"),
        listed,
        f"{listed}?p=15000",
        f"{listed}?cause=7",
        f"{listed}?q=19999",
        f"{listed}?age=hour",
        f"{listed}?entered_at_to_0=2020-01-01",
    ]
    for address in addresses:
        with CaptureQueriesContext(connection) as queries:
            assert admin_client.get(address).status_code == 200
        asked = [query["sql"] for query in queries if "dead_letter" in query["sql"]]
        assert asked
        for sql in asked:
            assert "Seq Scan on dead_letter" not in plan(sql), (address, sql)
