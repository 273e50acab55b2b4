"""The commands that operators and `./broker` run."""

import json
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client

from broker_project.lib.sealing import Sealer
from channels_app.models import Channel, Consumer, Producer, fields
from tests.channels_app.registry import make_channel, make_consumer, make_producer

pytestmark = pytest.mark.django_db


def test_create_api_key_prints_a_key_that_works_alone_on_the_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("create_api_key", "--name", "deploy")

    key = capsys.readouterr().out.splitlines()[-1]
    assert Client(headers={"Authorization": f"Bearer {key}"}).get("/channels").status_code == 200


@pytest.fixture
def static_root(settings: Any, tmp_path: Any) -> None:
    settings.STATIC_ROOT = tmp_path
    settings.REGISTRY_FILE = str(tmp_path / "broker.toml")


def prepare(capsys: pytest.CaptureFixture[str]) -> Any:
    call_command("prepare")
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_the_first_prepare_makes_a_staff_user_a_key_and_a_sample(
    static_root: None, capsys: pytest.CaptureFixture[str]
) -> None:
    welcome = prepare(capsys)

    assert welcome["first_run"]
    assert Client().login(username=welcome["username"], password=welcome["password"])
    client = Client(headers={"Authorization": f"Bearer {welcome['api_key']}"})
    assert client.get("/channel/sample-channel/consumer/sample-consumer").json()["callbackUrl"].startswith("http")
    assert "sample-channel" in welcome["curl"]


def test_a_second_prepare_makes_and_tells_nothing_new(static_root: None, capsys: pytest.CaptureFixture[str]) -> None:
    prepare(capsys)
    Channel.objects.named("sample-channel").get()

    welcome = prepare(capsys)

    assert (welcome["first_run"], welcome["password"], welcome["api_key"]) == (False, None, None)
    assert get_user_model().objects.count() == Channel.objects.count() == 1


def test_production_gets_no_sample_and_no_user(
    static_root: None, settings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.PROFILE = "production"

    welcome = prepare(capsys)

    assert (welcome["first_run"], welcome["curl"]) == (False, None)
    assert not get_user_model().objects.exists()
    assert not Channel.objects.exists()


def test_prepare_stops_where_the_tokens_cannot_be_read(
    static_root: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_channel()
    monkeypatch.setattr(fields, "sealer", lambda: Sealer(["another key"]))

    with pytest.raises(CommandError, match="TOKEN_KEYS"):
        prepare(capsys)


def test_reseal_tokens_moves_every_token_to_the_first_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "sealer", lambda: Sealer(["old"]))
    make_consumer(make_channel(token="c"), token="k")
    make_producer(token="p")

    monkeypatch.setattr(fields, "sealer", lambda: Sealer(["new", "old"]))
    call_command("reseal_tokens")

    monkeypatch.setattr(fields, "sealer", lambda: Sealer(["new"]))
    assert [Channel.objects.get().token, Consumer.objects.get().token, Producer.objects.get().token] == ["c", "k", "p"]


def test_reseal_tokens_does_not_move_the_time_of_change() -> None:
    before = make_channel().changed_at

    call_command("reseal_tokens")

    assert Channel.objects.get().changed_at == before
