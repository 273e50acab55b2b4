"""Every change to the registry is noticed by every process."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from channels_app.models import ApiKey, Channel, RegistryVersion
from channels_app.registry import Entry, Registry, registry
from tests.channels_app.registry import make_channel, make_consumer, make_producer, put

pytestmark = pytest.mark.django_db


def execute(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


@pytest.mark.parametrize(
    "change",
    [
        lambda: make_channel("other"),
        lambda: make_producer("other"),
        lambda: ApiKey.objects.issue(name="other"),
        lambda: ApiKey.objects.all().revoke(),
        lambda: execute("UPDATE channel SET name = 'by hand'"),
        lambda: execute("DELETE FROM consumer_state; DELETE FROM consumer"),
    ],
)
def test_any_change_raises_the_version(change: Callable[[], Any]) -> None:
    make_consumer(make_channel())
    ApiKey.objects.issue(name="a key")
    before = RegistryVersion.objects.current()

    change()

    assert RegistryVersion.objects.current() > before


def test_the_use_of_a_key_does_not_raise_it() -> None:
    ApiKey.objects.issue(name="a key")
    before = RegistryVersion.objects.current()

    ApiKey.objects.all().mark_used()

    assert RegistryVersion.objects.current() == before


def test_what_is_known_is_not_asked_for_again(django_assert_num_queries: Any) -> None:
    make_channel(token="open")
    known = Registry(max_age_seconds=60)
    assert known.channel("orders")

    with django_assert_num_queries(0):
        entry = known.channel("orders")

    assert entry
    assert entry.opened_by("open")
    assert not entry.opened_by("shut")


def test_what_has_changed_is_asked_for_again() -> None:
    channel = make_channel(token="old")
    known = Registry(max_age_seconds=0)
    assert known.channel("orders")

    Channel.objects.change(pk=channel.pk, known=channel.changed_at, values={"token": "new"})

    entry = known.channel("orders")
    assert entry
    assert entry.opened_by("new")


def test_what_is_not_there_is_remembered_too_until_it_is_made(django_assert_num_queries: Any) -> None:
    known = Registry(max_age_seconds=0)
    assert known.channel("orders") is None
    # The version is read too; Django does not count that.
    with django_assert_num_queries(0):
        assert known.channel("orders") is None

    make_channel()

    assert known.channel("orders")


def test_a_row_read_before_a_change_is_not_kept_after_it() -> None:
    """Two threads: one reads an old row, the other sees the new version first."""
    channel = make_channel(token="old")
    known = Registry(max_age_seconds=0)

    def load_while_another_thread_sees_a_change() -> Any:
        row = Channel.objects.get()
        Channel.objects.change(pk=channel.pk, known=channel.changed_at, values={"token": "new"})
        known.channel("another")
        return row.token

    assert known._known("slow", load_while_another_thread_sees_a_change) == "old"
    assert known._known("slow", lambda: Channel.objects.get().token) == "new"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("path", "look"),
    [
        ("/channel/orders", lambda _: registry().channel("orders")),
        ("/producer/shop", lambda _: registry().producer("shop")),
        ("/channel/parent/consumer/billing", lambda channel: registry().consumer(channel.pk, "billing")),
    ],
)
def test_the_process_that_acts_knows_of_it_at_once(
    path: str, look: Callable[[Channel], Entry | None], api: Client, settings: Any
) -> None:
    settings.REGISTRY_MAX_AGE_SECONDS = 3600
    parent, kind = make_channel("parent"), {"type": "pull"} if "consumer" in path else {}
    assert look(parent) is None

    put(api, path, {"token": "old", **kind})
    first = look(parent)
    assert first
    assert first.opened_by("old")

    put(api, path, {"token": "new"}, if_match="*")
    changed = look(parent)
    assert changed
    assert changed.opened_by("new")

    assert api.delete(path, headers={"If-Match": "*"}).status_code == 204
    assert look(parent) is None

    put(api, path, {"token": "new", **kind})
    second = look(parent)
    assert second
    assert second.row_id != first.row_id


@pytest.mark.django_db(transaction=True)
def test_what_is_undone_is_not_known(settings: Any) -> None:
    settings.REGISTRY_MAX_AGE_SECONDS = 3600
    with transaction.atomic():
        make_channel()
        transaction.set_rollback(True)
    assert registry().channel("orders") is None
