"""Secrets in the admin: masked, revealed by an audited POST, shown once."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.urls import reverse

from broker_project.lib.conditions import Condition
from channels_app import services
from channels_app.models import ApiKey, Channel, Consumer, Producer
from channels_app.models.api_key import hash_key
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.channels_app.staff import history, log_in, opened, page, pages

TOKEN = "a-token-that-nobody-else-has"
BUTTON = 'name="action" value="revoke"'
MAY_REVEAL = ("view_channel", "reveal_token")
MAY_RENEW = (*MAY_REVEAL, "change_channel")


@pytest.fixture(autouse=True)
def _database(db: None) -> None:
    pass


def test_a_token_is_revealed_to_who_may_see_it_and_the_look_is_noted() -> None:
    channel = make_channel(token=TOKEN)
    answer = log_in(*MAY_REVEAL).post(page(channel, "reveal_token"))
    assert TOKEN in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert history(channel) == ["Revealed the token"]


@pytest.mark.parametrize("act", ["reveal_token", "renew_token"])
def test_a_link_reveals_nothing(admin_client: Client, act: str) -> None:
    channel = make_channel(token=TOKEN)
    answer = admin_client.get(page(channel, act))
    assert answer.status_code == 405
    assert history(channel) == []


@pytest.mark.parametrize("act", ["reveal_token", "renew_token"])
def test_a_form_of_another_site_reveals_nothing(admin_client: Client, act: str) -> None:
    admin_client.handler.enforce_csrf_checks = True
    channel = make_channel(token=TOKEN)
    assert admin_client.post(page(channel, act)).status_code == 403


@pytest.mark.parametrize(
    ("act", "permissions"),
    [
        ("reveal_token", ("view_channel", "change_channel")),
        ("reveal_token", ("reveal_token",)),
        ("renew_token", ("view_channel", "change_channel")),
        ("renew_token", MAY_REVEAL),
    ],
)
def test_without_permission_there_is_no_button_and_a_forged_post_is_refused(act: str, permissions: tuple[str]) -> None:
    channel = make_channel(token=TOKEN)
    client = log_in(*permissions)
    assert page(channel, act) not in client.get(page(channel)).content.decode()
    assert client.post(page(channel, act), {"etag": channel.etag}).status_code == 403
    assert Channel.objects.get(pk=channel.pk).token == TOKEN
    assert history(channel) == []


def test_the_token_of_something_deleted_is_not_shown(admin_client: Client) -> None:
    channel = make_channel()
    services.delete(channel, condition=Condition(etags=frozenset({channel.etag})))
    assert page(channel, "reveal_token") not in admin_client.get(page(channel)).content.decode()
    assert admin_client.post(page(channel, "reveal_token")).status_code == 404


def test_a_new_token_is_made_after_a_question_and_noted() -> None:
    channel = make_channel(token=TOKEN)
    client = log_in(*MAY_RENEW)
    asked = client.post(page(channel, "renew_token"))
    assert "Yes, make a new token" in asked.content.decode()
    assert Channel.objects.get(pk=channel.pk).token == TOKEN
    answer = client.post(page(channel, "renew_token"), {"etag": channel.etag})
    token = Channel.objects.get(pk=channel.pk).token
    assert token != TOKEN
    assert token in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert history(channel) == ["Made a new token"]


@pytest.mark.parametrize(
    ("came_from", "leads_to"),
    [("http://testserver/admin/?q=1", "http://testserver/admin/?q=1"), ("https://elsewhere.example", ".."), ("", "..")],
)
def test_a_no_is_a_link_to_where_the_question_was_asked_and_never_to_another_site(
    came_from: str, leads_to: str
) -> None:
    channel, client = make_channel(), log_in(*MAY_RENEW)
    asked = client.post(page(channel, "renew_token"), headers={"Referer": came_from})
    assert f'<a href="{leads_to}"' in asked.content.decode()


def test_a_question_that_is_asked_once_more_still_knows_where_a_no_leads() -> None:
    channel, client = make_channel(), log_in(*MAY_RENEW)
    asked = client.post(
        page(channel, "renew_token"), {"_back": page(channel)}, headers={"Referer": "http://testserver/"}
    )
    assert f'<a href="{page(channel)}"' in asked.content.decode()
    assert f'name="_back" value="{page(channel)}"' in asked.content.decode()


def test_no_token_is_made_for_a_state_that_nobody_saw() -> None:
    channel = make_channel(token=TOKEN)
    answer = log_in(*MAY_RENEW).post(page(channel, "renew_token"), {"etag": '"1-1"'})
    assert answer.status_code == 302
    assert Channel.objects.get(pk=channel.pk).token == TOKEN
    assert history(channel) == []


def test_a_token_may_be_typed_for_something_new(admin_client: Client) -> None:
    add = pages(Producer, "add")
    admin_client.post(add, {**opened(admin_client, add), "public_id": "shop", "token": TOKEN})
    assert Producer.objects.named("shop").get().token == TOKEN


def test_a_typed_token_does_not_come_back_with_an_error(admin_client: Client) -> None:
    answer = admin_client.post(pages(Channel, "add"), {"public_id": "a b", "token": TOKEN})
    assert answer.status_code == 200
    assert TOKEN not in answer.content.decode()


def test_a_token_posted_with_a_change_is_ignored(admin_client: Client) -> None:
    channel = make_channel(token=TOKEN)
    admin_client.post(page(channel), {**opened(admin_client, page(channel)), "name": "x", "token": "another"})
    assert Channel.objects.get(pk=channel.pk).token == TOKEN


def test_tokens_are_in_no_page_and_in_no_history(admin_client: Client) -> None:
    channel = make_channel(token=TOKEN)
    rows: list[Any] = [channel, make_consumer(channel, token=TOKEN), make_producer(token=TOKEN)]
    for row in rows:
        admin_client.post(page(row), {**opened(admin_client, page(row)), "name": "changed"})
        admin_client.post(page(row, "reveal_token"))
    addresses = [pages(type(row), name) for row in rows for name in ("changelist", "add")]
    addresses += [page(row, name) for row in rows for name in ("change", "history", "delete")]
    for address in [*addresses, reverse("admin:index")]:
        assert TOKEN not in admin_client.get(address).content.decode()
    assert TOKEN not in str(list(LogEntry.objects.values()))


@pytest.mark.parametrize("model", [Channel, Consumer, Producer])
def test_a_page_does_not_even_read_the_tokens(admin_client: Client, model: Any) -> None:
    make_consumer(make_channel())
    make_producer()
    row = model.objects.get()
    with connection.cursor() as cursor:
        for table in ("channel", "consumer", "producer"):
            cursor.execute(f"UPDATE {table} SET token = 'sealed with a key that was lost'")  # noqa: S608
    channel = Channel.objects.values_list("pk", flat=True).get()
    for address in (pages(model), page(row), f"{pages(Consumer)}?channel__id__exact={channel}"):
        assert admin_client.get(address).status_code == 200


def test_an_api_key_is_shown_once() -> None:
    client = log_in("add_apikey", "view_apikey")
    answer = client.post(pages(ApiKey, "add"), {"name": "deployment"})
    key = ApiKey.objects.get()
    text = answer.context["secret"]
    assert hash_key(text) == key.hash
    assert text in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert (key.name, str(key.created_by)) == ("deployment", "staff")
    for address in (pages(ApiKey), page(key), page(key, "history")):
        assert text not in client.get(address).content.decode()
    assert history(key) == ["Added."]


def test_an_api_key_is_neither_edited_nor_deleted(admin_client: Client) -> None:
    key, _ = ApiKey.objects.issue(name="deployment")
    assert admin_client.post(page(key), {"name": "another"}).status_code == 403
    assert admin_client.post(page(key, "delete"), {"post": "yes"}).status_code == 403


def test_a_key_is_revoked_after_a_question_and_the_act_is_noted(admin_client: Client) -> None:
    key, _ = ApiKey.objects.issue(name="deployment")
    act = {"action": "revoke", "_selected_action": [key.pk]}
    assert BUTTON in admin_client.get(page(key)).content.decode()
    assert "Yes, revoke" in admin_client.post(pages(ApiKey), act).content.decode()
    assert ApiKey.objects.live().exists()
    admin_client.post(pages(ApiKey), {**act, "confirmed": "yes"})
    assert not ApiKey.objects.live().exists()
    assert history(key) == ["Revoked"]
    assert BUTTON not in admin_client.get(page(key)).content.decode()


def test_staff_who_may_only_look_at_keys_revoke_none() -> None:
    key, _ = ApiKey.objects.issue(name="deployment")
    client = log_in("view_apikey")
    client.post(pages(ApiKey), {"action": "revoke", "_selected_action": [key.pk], "confirmed": "yes"})
    assert ApiKey.objects.live().exists()
    assert BUTTON not in client.get(page(key)).content.decode()
