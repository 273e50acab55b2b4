"""The example of a declared registry is one that can be used as it is."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command

from channels_app.api import declaration
from channels_app.models import Channel, Consumer, Producer
from tests.deploy.knobs import TOP

EXAMPLE = TOP / "broker.toml.example"
DECLARED = [
    "producers.example-shop",
    "channels.example-orders",
    "channels.example-orders.consumers.warehouse",
    "channels.example-orders.consumers.reports",
]

pytestmark = pytest.mark.django_db


def test_the_example_is_applied_once_and_then_changes_nothing() -> None:
    first, second = declaration.apply(EXAMPLE), declaration.apply(EXAMPLE)
    assert (first.created, first.changed, first.unchanged) == (DECLARED, [], [])
    assert (second.created, second.changed, second.unchanged) == ([], [], DECLARED)


def test_the_tokens_of_the_example_may_come_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "broker.toml"
    path.write_text(re.sub("^# token", "token", EXAMPLE.read_text(), flags=re.MULTILINE))
    for name in re.findall(r'"\$(\w+)"', EXAMPLE.read_text()):
        monkeypatch.setenv(name, f"value-of-{name}")

    declaration.apply(path)

    assert Producer.objects.get().token == "value-of-SHOP_TOKEN"
    assert Channel.objects.get().token == "value-of-ORDERS_TOKEN"
    assert set(Consumer.objects.values_list("public_id", "type")) == {("warehouse", "push"), ("reports", "pull")}


def test_the_command_that_the_example_names_applies_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / settings.REGISTRY_FILE).write_text(EXAMPLE.read_text())
    monkeypatch.chdir(tmp_path)
    call_command(*re.findall(r"\./broker manage (.+)", EXAMPLE.read_text()))
    assert f"created: {', '.join(DECLARED)}\n" in capsys.readouterr().out
