"""A test message: stored as the door stores one, under the same limits, marked, audited; to all, or to one alone."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from channels_app.delivery.fanout import fan_out
from channels_app.models import Channel, Consumer, ConsumerState, DeliveryJob, Message, MessageKey, Producer
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.channels_app.staff import log_in

ALL = ("view_message", "add_message")


@pytest.fixture(autouse=True)
def _database(db: None) -> None:
    pass


@pytest.fixture
def channel() -> Channel:
    return make_channel()


@pytest.fixture(autouse=True)
def producer() -> Producer:
    return make_producer()


@pytest.fixture
def consumers(channel: Channel) -> list[Consumer]:
    return [make_consumer(channel, name) for name in ("billing", "stock")]


def post(client: Client, **fields: Any) -> Any:
    draft = {"channel": "orders", "producer": "shop", "payload": "{}", "content_type": "a/b", "priority": 0, **fields}
    return client.post(reverse("admin:watch_explorer_send"), draft)


def test_a_message_to_a_channel_goes_to_all_of_its_consumers(channel: Channel, consumers: list[Consumer]) -> None:
    answer = post(log_in(*ALL), payload='{"a":\r\n1}', headers="X-A: 1\nX-B: caf\u00e9", priority=7)
    message = Message.objects.get()
    assert answer.status_code == 302
    assert answer["Location"] == reverse("admin:watch_explorer_life", args=["orders", message.message_id])
    assert bytes(message.payload) == b'{"a":\n1}'
    assert message.headers == {"X-A": "1", "X-B": "caf\xc3\xa9", "X-Broker-Test": "true"}
    assert (message.status_name, message.priority, message.content_type) == ("ACKNOWLEDGED", 7, "a/b")
    assert MessageKey.objects.get().row_id == message.pk
    fan_out(channel.pk)
    assert DeliveryJob.objects.count() == 2


def test_a_message_to_one_consumer_has_one_job_and_no_place_in_the_sequence(
    channel: Channel, consumers: list[Consumer]
) -> None:
    post(log_in(*ALL), consumer="stock", priority=2)
    message, job = Message.objects.get(), DeliveryJob.objects.get()
    assert (job.consumer, job.message, job.priority, job.status_name) == (consumers[1], message, 2, "QUEUED")
    assert (message.status_name, message.sequence) == ("DISPATCHED", None)
    assert message.dispatched_at is not None
    assert fan_out(channel.pk).messages == 0
    assert DeliveryJob.objects.count() == 1


def test_who_sent_it_is_noted(channel: Channel, consumers: list[Consumer]) -> None:
    client = log_in(*ALL)
    post(client, consumer="billing")
    entry = LogEntry.objects.get()
    assert entry.object_id == str(Message.objects.get().pk)
    assert entry.get_change_message() == "Sent as a test to consumer billing of channel orders, as producer shop"
    shown = client.get(reverse("admin:watch_explorer_life", args=["orders", Message.objects.get().message_id]))
    assert "(by staff)." in shown.content.decode()


@pytest.mark.parametrize("permissions", [("view_message",), ("add_message",), ()])
def test_without_both_permissions_nothing_is_sent(channel: Channel, permissions: tuple[str, ...]) -> None:
    client = log_in(*permissions)
    assert post(client).status_code == 403
    assert client.get(reverse("admin:watch_explorer_send")).status_code == 403
    assert not Message.objects.exists()


def test_without_the_form_s_own_token_nothing_is_sent(channel: Channel, admin_user: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)
    assert post(client).status_code == 403
    assert not Message.objects.exists()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"channel": "nobody"}, "There is no such channel"),
        ({"channel": "\x00"}, "Null characters are not allowed"),
        ({"producer": "nobody"}, "There is no such producer"),
        ({"consumer": "nobody"}, "This channel has no such consumer"),
        ({"payload": ""}, "This field is required"),
        ({"payload": "x" * (1024 * 1024 + 1)}, "larger than a message may be"),
        ({"content_type": "a\nb"}, "Enter a valid value"),
        ({"headers": "no colon"}, "A header is a line"),
        ({"headers": "Authorization: x"}, "the broker&#x27;s or the connection&#x27;s own"),
        ({"headers": "X-Broker-Job-ID: 7"}, "the broker&#x27;s or the connection&#x27;s own"),
        ({"priority": "high"}, "Enter a whole number"),
        ({"priority": 2**31}, "less than or equal"),
    ],
)
def test_what_cannot_be_sent_is_told(channel: Channel, consumers: list[Consumer], fields: Any, words: str) -> None:
    answer = post(log_in(*ALL), **fields)
    assert answer.status_code == 200
    assert words in answer.content.decode()
    assert not Message.objects.exists()
    assert not LogEntry.objects.exists()


def test_a_consumer_that_cannot_take_one_alone_gets_none(channel: Channel, consumers: list[Consumer]) -> None:
    client = log_in(*ALL)
    make_consumer(channel, "poller", type="pull", pull_mode="index", callback_url="")
    ConsumerState.objects.filter(pk=consumers[0].pk).update(disabled_at=timezone.now())
    for name in ("billing", "poller"):
        assert "takes no message of its own" in post(client, consumer=name).content.decode()
    assert not Message.objects.exists()
    assert not MessageKey.objects.exists()


@pytest.mark.usefixtures("redis_client")
@pytest.mark.parametrize("to", ["", "billing"])
def test_the_limits_of_the_channel_and_the_producer_hold(channel: Channel, consumers: list[Consumer], to: str) -> None:
    client = log_in(*ALL)
    Producer.objects.update(rate_per_second=0.001, rate_burst=1)
    assert post(client, consumer=to).status_code == 302
    assert "This producer broadcasts faster than it may" in post(client, consumer=to).content.decode()
    assert Message.objects.count() == 1


def test_a_full_backlog_takes_no_test_either(consumers: list[Consumer]) -> None:
    Channel.objects.update(max_backlog=1)
    client = log_in(*ALL)
    assert post(client).status_code == 302
    assert "as much undelivered work as it may have" in post(client).content.decode()


def test_an_address_fills_the_form_in(channel: Channel) -> None:
    asked = {"channel": "orders", "consumer": "<b>", "producer": "shop"}
    shown = log_in(*ALL).get(reverse("admin:watch_explorer_send"), asked).content.decode()
    assert 'value="orders"' in shown
    assert "<b>" not in shown.split("<form", 1)[1]
