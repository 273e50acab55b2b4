"""Staff's forms: saving, overtaking, deleting, and who may do what."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from broker_project.lib.conditions import Condition
from channels_app import services
from channels_app.models import ApiKey, Channel, Consumer
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.channels_app.staff import history, log_in, opened, page, pages

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def _database(db: None) -> None:
    pass


def test_a_deleted_row_can_be_looked_at_and_not_changed(admin_client: Client) -> None:
    channel = make_channel()
    services.delete(channel, condition=Condition(etags=frozenset({channel.etag})))
    shown = admin_client.get(page(channel))
    assert b"Deleted at" in shown.content
    assert b'name="_save"' not in shown.content
    assert admin_client.post(page(channel), {"name": "x"}).status_code == 403
    assert admin_client.post(page(channel, "delete"), {"post": "yes"}).status_code == 403


def test_only_live_channels_are_offered_to_a_new_consumer(admin_client: Client) -> None:
    live, gone = make_channel("live"), make_channel("gone")
    services.delete(gone, condition=Condition(etags=frozenset({gone.etag})))
    query = {"app_label": "channels_app", "model_name": "consumer", "field_name": "channel"}
    offered = admin_client.get(reverse("admin:autocomplete"), query).json()["results"]
    assert [entry["text"] for entry in offered] == [live.public_id]
    refused = admin_client.post(pages(Consumer, "add"), {"channel": gone.pk, "public_id": "x", "type": "pull"})
    assert "channel" in refused.context["adminform"].form.errors


def test_a_new_channel_needs_only_an_id(admin_client: Client) -> None:
    admin_client.post(pages(Channel, "add"), {**opened(admin_client, pages(Channel, "add")), "public_id": "orders"})
    channel = Channel.objects.named("orders").get()
    assert (channel.name, channel.retries, channel.delayed_messaging) == ("orders", 3, True)
    assert len(channel.token) > 20
    assert history(channel) == ["Added."]


def test_an_id_that_is_taken_is_refused_beside_the_field(admin_client: Client) -> None:
    make_channel("orders")
    typed = {**opened(admin_client, pages(Channel, "add")), "public_id": "orders"}
    answer = admin_client.post(pages(Channel, "add"), typed)
    assert answer.status_code == 200
    assert "There is a channel with this id." in answer.content.decode()


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"public_id": "a b"}, "public_id"),
        ({"callback_url": ""}, "callback_url"),
        ({"callback_url": "ftp://x"}, "callback_url"),
        ({"non_retriable": "404, teapot"}, "non_retriable"),
        ({"rate_burst": "5"}, "rate_burst"),
        ({"timeout_seconds": "nan"}, "timeout_seconds"),
        ({"token": "with space"}, "token"),
    ],
)
def test_a_wrong_value_is_refused_beside_its_field(admin_client: Client, typed: dict[str, str], field: str) -> None:
    add = f"{pages(Consumer, 'add')}?channel={make_channel().pk}"
    right = {**opened(admin_client, add), "public_id": "billing", "callback_url": "http://127.0.0.1:9/"}
    answer = admin_client.post(add, {**right, **typed})
    assert list(answer.context["adminform"].form.errors) == [field]
    assert not Consumer.objects.exists()


def test_saving_changes_what_was_changed_and_says_so(admin_client: Client) -> None:
    consumer = make_consumer(make_channel())
    typed = {**opened(admin_client, page(consumer)), "name": "Billing", "non_retriable": "404, http_3xx"}
    assert admin_client.post(page(consumer), typed).status_code == 302
    after = Consumer.objects.get(pk=consumer.pk)
    assert (after.name, after.non_retriable, after.retries) == ("Billing", ["404", "http_3xx"], None)
    assert after.token == consumer.token
    assert history(consumer) == ["Changed Name and Not tried again."]


def test_saving_without_a_change_leaves_the_row_alone(admin_client: Client) -> None:
    channel = make_channel()
    admin_client.post(page(channel), opened(admin_client, page(channel)))
    assert Channel.objects.get(pk=channel.pk).changed_at == channel.changed_at


def test_a_form_that_somebody_overtook_overwrites_nothing(admin_client: Client) -> None:
    channel = make_channel()
    typed = {**opened(admin_client, page(channel)), "name": "mine"}
    services.put(channel, values={"name": "theirs"}, condition=Condition(etags=frozenset({channel.etag})))
    answer = admin_client.post(page(channel), typed)
    assert "Somebody changed this while the form was open" in answer.content.decode()
    assert Channel.objects.get(pk=channel.pk).name == "theirs"
    assert history(channel) == []


def test_a_delete_asks_and_then_keeps_the_row_and_its_history(admin_client: Client) -> None:
    channel = make_channel()
    consumer = make_consumer(channel)
    asked = admin_client.get(page(channel, "delete"))
    assert "Consumers: 1" in asked.content.decode()
    answer = admin_client.post(page(channel, "delete"), {"post": "yes", "etag": channel.etag})
    assert answer.status_code == 302
    assert not Channel.objects.named("orders").exists()
    assert Consumer.objects.get(pk=consumer.pk).deleted_at is not None
    assert len(history(channel)) == 1
    assert admin_client.get(page(channel, "history")).status_code == 200


@pytest.mark.parametrize("etag", ["", '"1-1"'])
def test_a_delete_of_another_state_than_the_one_seen_is_refused(admin_client: Client, etag: str) -> None:
    channel = make_channel()
    answer = admin_client.post(page(channel, "delete"), {"post": "yes", "etag": etag}, follow=True)
    assert "Somebody changed this" in answer.content.decode()
    assert Channel.objects.named("orders").exists()
    assert history(channel) == []


def test_many_are_deleted_at_once_after_a_question(admin_client: Client) -> None:
    chosen = [make_channel("a"), make_channel("b")]
    make_consumer(chosen[0])
    kept = make_channel("c")
    act = {"action": "delete_selected", "_selected_action": [row.pk for row in chosen]}
    assert "Consumers: 1" in admin_client.post(pages(Channel), act).content.decode()
    assert Channel.objects.live().count() == 3
    admin_client.post(pages(Channel), {**act, "post": "yes"})
    assert list(Channel.objects.live()) == [kept]
    assert Channel.objects.count() == 3
    assert [len(history(row)) for row in chosen] == [1, 1]


def test_staff_without_the_permission_change_nothing() -> None:
    channel = make_channel()
    client = log_in("view_channel")
    assert client.get(page(channel)).status_code == 200
    assert client.post(page(channel), {"name": "x"}).status_code == 403
    assert client.post(page(channel, "delete"), {"post": "yes", "etag": channel.etag}).status_code == 403
    assert client.get(pages(Consumer)).status_code == 403


def test_a_user_is_made_inactive_and_never_deleted(admin_client: Client) -> None:
    user = User.objects.create_user("somebody")
    assert admin_client.post(page(user, "delete"), {"post": "yes"}).status_code == 403


def test_names_are_shown_as_text_everywhere(admin_client: Client) -> None:
    channel = make_channel(name=SCRIPT)
    consumer = make_consumer(channel, name=SCRIPT)
    producer = make_producer(name=SCRIPT)
    key, _ = ApiKey.objects.issue(name=SCRIPT)
    rows: list[Any] = [channel, consumer, producer, key]
    posts: list[tuple[str, dict[str, Any]]] = [
        (page(channel, "reveal_token"), {}),
        (page(channel, "renew_token"), {}),
        (pages(ApiKey), {"action": "revoke", "_selected_action": [key.pk]}),
        (pages(ApiKey, "add"), {"name": SCRIPT}),
    ]
    shown = [admin_client.post(address, data) for address, data in posts]
    shown += [admin_client.get(pages(type(row))) for row in rows]
    shown += [admin_client.get(page(row, name)) for row in rows for name in ("change", "history")]
    shown += [admin_client.get(page(row, "delete")) for row in rows[:3]]
    shown.append(admin_client.get(reverse("admin:index")))
    for answer in shown:
        assert answer.status_code == 200
        assert SCRIPT not in answer.content.decode()
