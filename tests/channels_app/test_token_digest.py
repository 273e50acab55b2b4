"""A producer found by its token alone: whoever writes the token, the digest follows it."""

from importlib import import_module

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.test import Client

from broker_project.lib.sealing import Sealer
from channels_app.models import Producer, fields
from tests.channels_app.registry import make_producer, put

pytestmark = pytest.mark.django_db


def found(token: str) -> list[str]:
    return [producer.public_id for producer in Producer.objects.with_token(token)]


def test_a_made_and_a_changed_token_are_found(api: Client) -> None:
    made = put(api, "/producer/shop", {"token": "first"})
    assert found("first") == ["shop"]
    put(api, "/producer/shop", {"token": "second"}, if_match=made["ETag"])
    assert (found("first"), found("second")) == ([], ["shop"])
    assert found("") == []


def test_a_deleted_producer_is_not_found() -> None:
    producer = make_producer(token="gone")
    Producer.objects.retire(pk=producer.pk, known=producer.changed_at)
    assert found("gone") == []


def test_tokens_of_two_producers_may_be_equal() -> None:
    make_producer("one", token="same")
    make_producer("two", token="same")
    assert found("same") == ["one", "two"]


def test_the_row_does_not_tell_the_token() -> None:
    make_producer(token="secret")
    with connection.cursor() as cursor:
        cursor.execute("SELECT producer::text FROM producer")
        [row] = cursor.fetchone()
    assert "secret" not in row


def test_keys_change_over_without_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "sealer", lambda: Sealer(["old"]))
    make_producer(token="kept")
    monkeypatch.setattr(fields, "sealer", lambda: Sealer(["new", "old"]))
    assert found("kept") == ["shop"]
    call_command("reseal_tokens")
    monkeypatch.setattr(fields, "sealer", lambda: Sealer(["new"]))
    assert found("kept") == ["shop"]


def test_the_migration_goes_on_behind_a_token_that_cannot_be_read() -> None:
    lost, kept = make_producer("lost", token="a"), make_producer("kept", token="b")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE producer SET token_digest = ''")
        cursor.execute("UPDATE producer SET token = 'torn' WHERE id = %s", [lost.pk])
    migration = import_module("channels_app.migrations.0010_dapr")

    migration.digest_tokens(apps, None)

    assert (found("a"), found("b")) == ([], [kept.public_id])
