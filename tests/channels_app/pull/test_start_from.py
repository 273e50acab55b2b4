"""Where a consumer begins that polls by index, and what happens when it becomes one, or ceases to be."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from broker_project.lib.conditions import Condition
from channels_app import services
from channels_app.api import declaration
from channels_app.delivery.fanout import fan_out
from channels_app.models import Channel, Consumer, DeliveryJob, JobStatus, Message
from channels_app.pull.expiry import end_unacknowledged
from tests.acceptance.servers import wait_until
from tests.channels_app.locks import somebody_waits
from tests.channels_app.messages import make_messages
from tests.channels_app.pull.pollers import Poller, make_poller, publish
from tests.channels_app.registry import make_channel, make_consumer, problem, put

pytestmark = pytest.mark.django_db(transaction=True)

POLLER = {"type": "pull", "pullMode": "index"}


@pytest.fixture
def channel() -> Channel:
    """With five messages, from before anybody came."""
    made = make_channel()
    publish(made, 5)
    return made


def change(consumer: Consumer, **values: Any) -> Consumer:
    known = Condition(etags=frozenset({consumer.etag}))
    return services.put(consumer, values=values, condition=known)[0]


def test_a_new_one_begins_with_the_next_message(channel: Channel) -> None:
    poller = make_poller(channel)
    publish(channel, 2)

    assert poller.take() == [6, 7]


def test_a_message_that_waits_for_fan_out_is_the_next(channel: Channel) -> None:
    make_messages(channel, "waits")
    poller = make_poller(channel)
    publish(channel, 1)

    assert poller.take() == [6, 7]


@pytest.mark.parametrize(("start", "first"), [(0, 1), (3, 4), (5, 6)])
def test_it_may_begin_after_an_index(api: Client, channel: Channel, start: int, first: int) -> None:
    made = put(api, "/channel/orders/consumer/k", {**POLLER, "startFrom": start})
    publish(channel, 2)

    assert made.status_code == 201
    assert made.json()["state"] | {"ackedIndex": start, "sentIndex": start} == made.json()["state"]
    assert Poller(Consumer.objects.get()).take() == list(range(first, 8))


def test_it_may_begin_at_a_time(api: Client, channel: Channel) -> None:
    now = timezone.now()
    Message.objects.filter(sequence__lte=3).update(received_at=now - timedelta(hours=2))

    put(api, "/channel/orders/consumer/k", {**POLLER, "startFrom": (now - timedelta(hours=1)).isoformat()})

    assert Poller(Consumer.objects.get()).take() == [4, 5]


@pytest.mark.parametrize("start", [-1, 6, 10**30, True, 1.5, "soon", "3", [], {}])
def test_what_is_no_place_is_refused(api: Client, channel: Channel, start: Any) -> None:
    refused = put(api, "/channel/orders/consumer/k", {**POLLER, "startFrom": start})

    assert refused.status_code == 400
    assert not Consumer.objects.exists()


def test_a_form_may_say_it_too(api: Client, channel: Channel) -> None:
    made = api.put(
        "/channel/orders/consumer/k",
        "type=pull&pullMode=index&startFrom=2",
        content_type="application/x-www-form-urlencoded",
    )

    assert made.json()["state"]["ackedIndex"] == 2


@pytest.mark.parametrize("kind", [{"type": "pull"}, {"callbackUrl": "http://127.0.0.1:9/"}])
def test_it_is_refused_for_one_that_does_not_poll(api: Client, channel: Channel, kind: dict[str, str]) -> None:
    problem(put(api, "/channel/orders/consumer/k", {**kind, "startFrom": 0}), 400, "start_needs_index")
    assert not Consumer.objects.exists()


def test_a_later_put_is_told_to_seek(api: Client, channel: Channel) -> None:
    made = put(api, "/channel/orders/consumer/k", {**POLLER, "startFrom": 2})

    again = put(api, "/channel/orders/consumer/k", {"startFrom": 2}, if_match=made["ETag"])

    assert "seek" in problem(again, 400, "start_is_past")["detail"]
    assert put(api, "/channel/orders/consumer/k", {"startFrom": None}, if_match=made["ETag"]).status_code == 200
    assert Poller(Consumer.objects.get()).indexes == (2, 2)


def test_the_indexes_are_shown_of_pollers_only(api: Client, channel: Channel) -> None:
    leases = put(api, "/channel/orders/consumer/k", {"type": "pull"})

    assert not {"ackedIndex", "sentIndex"} & leases.json()["state"].keys()


def test_one_that_becomes_a_poller_begins_before_its_oldest_open_job(channel: Channel) -> None:
    consumer = make_consumer(channel, type="pull", callback_url="")
    publish(channel, 4)
    jobs = DeliveryJob.objects.filter(message__sequence__lte=7)
    jobs.update(status=JobStatus.DELIVERED)
    later = timezone.now() + timedelta(hours=1)
    DeliveryJob.objects.filter(message__sequence=8).update(next_attempt_at=later, priority=-1)

    poller = Poller(change(consumer, pull_mode="index"))

    assert poller.indexes == (7, 7)
    assert poller.take() == [8, 9]


def test_one_that_becomes_a_poller_with_nothing_open_begins_with_the_next_message(channel: Channel) -> None:
    poller = Poller(change(make_consumer(channel), type="pull", pull_mode="index"))
    publish(channel, 1)

    assert poller.take() == [6]


def test_another_change_moves_nothing(channel: Channel) -> None:
    poller = make_poller(channel)
    publish(channel, 3)
    poller.poll()

    change(poller.consumer, unacked_cap=3)

    assert poller.indexes == (5, 8)


def test_what_one_has_polled_comes_back_when_it_polls_no_more(channel: Channel) -> None:
    poller = make_poller(channel, ack_timeout_seconds=0.001)
    publish(channel, 2)
    poller.poll()

    change(poller.consumer, pull_mode="lease")

    assert None not in DeliveryJob.objects.values_list("lease_until", flat=True)
    end_unacknowledged()
    assert poller.statuses() == [JobStatus.QUEUED] * 2


def test_a_registry_file_says_it_at_every_start_and_is_heard_at_the_first(channel: Channel, tmp_path: Path) -> None:
    file = tmp_path / "broker.toml"
    file.write_text('[channels.orders.consumers.k]\ntype = "pull"\npullMode = "index"\nstartFrom = 2\n')

    assert declaration.apply(file).created == ["channels.orders.consumers.k"]
    poller = Poller(Consumer.objects.get())
    poller.poll()
    assert declaration.apply(file).changed == []
    assert poller.indexes == (2, 5)


def test_one_that_comes_during_a_fan_out_begins_after_it(channel: Channel) -> None:
    """It waits for the number that the fan-out is about to give."""

    def register() -> tuple[int, int]:
        try:
            return make_poller(channel).indexes
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            make_messages(channel, "under-way")
            fan_out(channel.pk)
            registered = threads.submit(register)
            wait_until(somebody_waits, 10)
        assert registered.result(10) == (6, 6)
