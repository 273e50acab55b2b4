"""The registry declared in a file."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from channels_app.api import declaration
from channels_app.models import Channel, Consumer, Producer
from tests.channels_app.registry import make_channel

pytestmark = pytest.mark.django_db

FILE = """
[producers.shop]
token = "$SHOP_TOKEN"

[channels.orders]
name = "Orders"
retryPolicy = { retries = 5 }

[channels.orders.consumers.billing]
callbackUrl = "https://example.com/hook"

[channels.orders.consumers.archive]
type = "pull"
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SHOP_TOKEN", "from-the-environment")
    path = tmp_path / "broker.toml"
    path.write_text(FILE)
    return path


def test_what_is_declared_is_made(file: Path) -> None:
    applied = declaration.apply(file)

    assert applied.created == [
        "producers.shop",
        "channels.orders",
        "channels.orders.consumers.billing",
        "channels.orders.consumers.archive",
    ]
    assert Producer.objects.get().token == "from-the-environment"
    assert Channel.objects.get().retries == 5
    assert set(Consumer.objects.values_list("public_id", "type")) == {("billing", "push"), ("archive", "pull")}


def test_a_second_time_changes_nothing(file: Path) -> None:
    declaration.apply(file)
    before = list(Channel.objects.values()), list(Producer.objects.values()), list(Consumer.objects.values())

    applied = declaration.apply(file)

    assert (applied.created, applied.changed, len(applied.unchanged)) == ([], [], 4)
    assert before == (list(Channel.objects.values()), list(Producer.objects.values()), list(Consumer.objects.values()))


def test_what_differs_is_changed_and_the_rest_is_left_alone(file: Path) -> None:
    declaration.apply(file)
    make_channel("made-by-hand")
    token = Channel.objects.named("orders").get().token

    file.write_text(FILE.replace("retries = 5", "retries = 6"))
    applied = declaration.apply(file)

    assert applied.changed == ["channels.orders"]
    channel = Channel.objects.named("orders").get()
    assert (channel.retries, channel.token) == (6, token)
    assert Channel.objects.count() == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[channels.orders", "broker.toml"),
        ("[channels.orders]\nnonsense = 1", "channels.orders.nonsense: There is no such field."),
        ("[channels.orders]\npartitions = 0", "channels.orders.partitions"),
        ("[channels.'a b']", "channels.a b: An id is"),
        ("[channels.orders.consumers.x]", "channels.orders.consumers.x: A push consumer needs"),
        ("[queues.orders]", "no section queues"),
        ("channels = 1", "channels must be a table"),
        ("[channels]\norders = 1", "channels.orders must be a table"),
        ("[channels.a]\ntoken = '$NOT_SET_ANYWHERE'", "NOT_SET_ANYWHERE"),
    ],
)
def test_a_mistake_is_named_and_nothing_is_applied(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "broker.toml"
    path.write_text(text + "\n[producers.first]\n")

    with pytest.raises(declaration.InvalidDeclaration, match=message.replace("[", r"\[")):
        declaration.apply(path)

    assert not Producer.objects.exists()


def test_the_command_says_what_it_did_and_fails_clearly(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("apply_registry", str(file))
    assert "created: producers.shop, channels.orders" in capsys.readouterr().out

    with pytest.raises(CommandError, match=r"none\.toml"):
        call_command("apply_registry", str(file.parent / "none.toml"))
