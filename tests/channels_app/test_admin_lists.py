"""Staff's lists and first page: cheap, searchable, linked."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django_celery_beat.models import CrontabSchedule, IntervalSchedule, PeriodicTask

from broker_project.lib.conditions import Condition
from channels_app import services
from channels_app.models import ApiKey, Channel, Consumer, Producer
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.channels_app.staff import log_in, page, pages

MODELS = [Channel, Consumer, Producer, ApiKey, User, Group, PeriodicTask, IntervalSchedule, CrontabSchedule]


@pytest.fixture(autouse=True)
def _database(db: None) -> None:
    pass


def make_many(count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        channel = make_channel(f"channel-{number}", name=f"Channel {number}")
        make_consumer(channel)
        make_producer(f"producer-{number}", rate_per_second=5)
        ApiKey.objects.issue(name=f"key {number}", created_by=User.objects.first())
        Group.objects.create(name=f"group {number}")
        User.objects.create(username=f"user {number}")
        CrontabSchedule.objects.create(minute=str(number))
        every = IntervalSchedule.objects.create(every=number + 1, period="hours")
        PeriodicTask.objects.create(name=f"task {number}", task="a.task", interval=every)


def queries(client: Client, address: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


@pytest.mark.parametrize("model", MODELS)
def test_a_list_costs_the_same_queries_for_1_row_as_for_30(admin_client: Client, model: Any) -> None:
    make_many(1)
    queries(admin_client, pages(model))
    one = queries(admin_client, pages(model))
    make_many(29, first=1)
    assert queries(admin_client, pages(model)) == one < 15


@pytest.mark.parametrize("model", MODELS)
def test_every_page_to_add_something_answers(admin_client: Client, model: Any) -> None:
    assert admin_client.get(pages(model, "add")).status_code == 200


@pytest.mark.parametrize("model", MODELS)
def test_every_row_has_a_page_and_a_history(admin_client: Client, model: Any) -> None:
    make_many(1)
    row = model.objects.first()
    for name in ("change", "history"):
        assert admin_client.get(page(row, name)).status_code == 200


def test_the_page_of_a_channel_costs_the_same_with_one_consumer_as_with_thirty(admin_client: Client) -> None:
    channel = make_channel()
    make_consumer(channel)
    queries(admin_client, page(channel))
    one = queries(admin_client, page(channel))
    for number in range(29):
        make_consumer(channel, f"consumer-{number}")
    assert queries(admin_client, page(channel)) == one


def test_the_first_page_counts_what_there_is(admin_client: Client) -> None:
    make_many(3)
    cards = admin_client.get(reverse("admin:index")).context["cards"]
    assert [(card["title"], card["count"]) for card in cards] == [
        ("channels", "3"),
        ("consumers", "3"),
        ("producers", "3"),
        ("API keys", "3"),
    ]


def test_the_sidebar_shows_what_one_may_see(admin_client: Client) -> None:
    def titles(client: Client) -> list[str]:
        groups = client.get(reverse("admin:index")).context["sidebar_navigation"]
        return [item["title"] for group in groups for item in group["items"]]

    elsewhere = ["Workers (Flower)", "API documents", "Health"]
    models = ["Dashboard", "Alerts", "Alert rules", "Channels", "Consumers", "Producers", "Dapr components"]
    models += ["Explorer", "Messages", "Delivery jobs", "Recurring schedules", "Scheduled messages"]
    models += ["Overview", "Dead letters", "Dead letter policies"]
    models += ["API keys", "Users", "Groups", "Reports", "Operations", "Periodic tasks"]
    assert titles(admin_client) == [*models, *elsewhere]
    assert titles(log_in("view_channel")) == ["Channels", *elsewhere]


def test_a_list_shows_live_rows_until_deleted_ones_are_asked_for(admin_client: Client) -> None:
    make_channel("kept")
    gone = make_channel("gone")
    services.delete(gone, condition=Condition(etags=frozenset({gone.etag})))

    def shown(query: str) -> list[str]:
        rows = admin_client.get(pages(Channel) + query).context["cl"].result_list
        return [row.public_id for row in rows]

    assert shown("") == ["kept"]
    assert shown("?state=ended") == ["gone"]
    assert shown("?state=all") == ["gone", "kept"]


def test_a_search_finds_by_part_of_an_id_or_of_a_name(admin_client: Client) -> None:
    make_producer("till-7", name="Corner shop")
    make_producer("web", name="Web shop")
    for words, found in (("ill-", ["till-7"]), ("corner", ["till-7"]), ("shop", ["web", "till-7"])):
        rows = admin_client.get(pages(Producer), {"q": words}).context["cl"].result_list
        assert [row.public_id for row in rows] == found


def test_a_channel_leads_to_its_consumers_and_a_consumer_back(admin_client: Client) -> None:
    channel, other = make_channel("orders"), make_channel("other")
    consumer = make_consumer(channel)
    make_consumer(other, "elsewhere")
    to_consumers = f"{pages(Consumer)}?channel__id__exact={channel.pk}"
    assert to_consumers in admin_client.get(pages(Channel)).content.decode()
    assert to_consumers in admin_client.get(page(channel)).content.decode()
    listed = admin_client.get(to_consumers)
    assert list(listed.context["cl"].result_list) == [consumer]
    assert page(channel) in listed.content.decode()


def test_staff_who_may_only_look_at_periodic_tasks_cannot_run_them() -> None:
    make_many(1)
    task = PeriodicTask.objects.get(name="task 0")
    log_in("view_periodictask").post(pages(PeriodicTask), {"action": "disable_tasks", "_selected_action": [task.pk]})
    task.refresh_from_db()
    assert task.enabled


def test_every_time_says_that_it_is_utc(admin_client: Client) -> None:
    channel = make_channel()
    written = f"{channel.changed_at:%Y-%m-%d %H:%M:%S} UTC"
    assert written in admin_client.get(pages(Channel)).content.decode()
    assert written in admin_client.get(page(channel)).content.decode()
