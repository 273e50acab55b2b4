"""Components: from Dapr's YAML, in the admin, and known to every process at once."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from channels_app.models import RegistryVersion
from scheduling_app.models import Component
from tests.channels_app.staff import history, log_in, opened, page, pages

pytestmark = pytest.mark.django_db

FILE = """
apiVersion: dapr.io/v1alpha1
kind: Component
metadata:
  name: orders-pubsub
  namespace: production
spec:
  type: pubsub.rabbitmq
  version: v1
  metadata:
    - name: connectionString
      value: "amqp://localhost:5672"
    - name: enableDelayedMessaging
      value: {delayed}
    - name: createTopics
      value: "{topics}"
scopes: [checkout]
---
apiVersion: dapr.io/v1alpha1
kind: Component
metadata: {{name: statestore}}
spec: {{type: state.redis, version: v1}}
---
"""


def file(tmp_path: Path, text: str) -> str:
    path = tmp_path / "components.yaml"
    path.write_text(text)
    return str(path)


def values(name: str) -> tuple[bool, bool]:
    row = Component.objects.get(name=name)
    return row.enable_delayed_messaging, row.create_topics


def test_a_file_is_loaded_and_loaded_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("load_components", file(tmp_path, FILE.format(delayed='"true"', topics="false")))
    assert values("orders-pubsub") == (True, False)
    told = capsys.readouterr()
    assert told.out == "orders-pubsub: loaded\n"
    assert "connectionString, scopes" in told.err
    assert "statestore: passed over" in told.err

    before = RegistryVersion.objects.current()
    call_command("load_components", file(tmp_path, FILE.format(delayed="false", topics="TRUE")))
    assert values("orders-pubsub") == (False, True)
    assert Component.objects.count() == 1
    assert RegistryVersion.objects.current() > before


def test_what_a_component_does_not_say_has_its_default(tmp_path: Path) -> None:
    text = "kind: Component\nmetadata: {name: plain}\nspec: {type: pubsub.in-memory, version: v1}\n"
    call_command("load_components", file(tmp_path, text))
    assert values("plain") == (False, True)


@pytest.mark.parametrize(
    "text",
    [
        "[",
        "\x00",
        "- a list",
        "kind: Configuration",
        "kind: Component",
        "kind: Component\nmetadata: {name: 'no blanks'}\nspec: {type: pubsub.redis}",
        "kind: Component\nmetadata: {name: x}",
        "kind: Component\nmetadata: {name: x}\nspec: {type: 7}",
        "kind: Component\nmetadata: {name: x}\nspec: {type: pubsub.redis, metadata: {a: b}}",
        "kind: Component\nmetadata: {name: x}\nspec: {type: pubsub.redis, metadata: [a]}",
        "kind: Component\nmetadata: {name: x}\nspec:\n  type: pubsub.x\n"
        "  metadata: [{name: createTopics, value: maybe}]",
        "kind: Component\nmetadata: {name: x}\nspec:\n  type: pubsub.x\n  metadata: [{name: createTopics}]",
    ],
)
def test_a_file_that_cannot_be_read_changes_nothing(tmp_path: Path, text: str) -> None:
    good = tmp_path / "good.yaml"
    good.write_text(FILE.format(delayed="true", topics="true"))
    with pytest.raises(CommandError, match=r"components\.yaml"):
        call_command("load_components", str(good), file(tmp_path, text))
    assert not Component.objects.exists()


def test_what_stands_in_a_torn_file_is_not_told(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"line 2, column \d+") as told:
        call_command("load_components", file(tmp_path, 'a: 1\npassword: "hunter2" oops: @secret\n'))
    assert not any(word in str(told.value) for word in ("hunter2", "secret", "oops"))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"none\.yaml"):
        call_command("load_components", str(tmp_path / "none.yaml"))


def test_staff_make_change_and_delete_one() -> None:
    staff = log_in("view_component", "add_component", "change_component", "delete_component")
    assert b"Dapr components" in staff.get("/admin/").content
    made = staff.post(pages(Component, "add"), {"name": "pubsub", "create_topics": "on"})
    assert made.status_code == 302
    row = Component.objects.get()
    assert values("pubsub") == (False, True)

    changed = staff.post(page(row), {**opened(staff, page(row)), "enable_delayed_messaging": "on", "name": "other"})
    assert changed.status_code == 302
    assert values("pubsub") == (True, True)
    assert history(row)[0] == "Added."
    assert staff.get(pages(Component)).status_code == 200

    assert staff.post(page(row, "delete"), {"post": "yes"}).status_code == 302
    assert not Component.objects.exists()


def test_a_name_that_cannot_be_one_is_refused_by_the_form() -> None:
    staff = log_in("view_component", "add_component")
    answer = staff.post(pages(Component, "add"), {"name": "no blanks"})
    assert answer.status_code == 200
    assert b"1 to 255" in answer.content
    assert not Component.objects.exists()


def test_who_may_only_look_changes_nothing() -> None:
    row = Component.objects.put(name="pubsub", enable_delayed_messaging=False, create_topics=True)
    staff = log_in("view_component")
    assert staff.get(page(row)).status_code == 200
    assert staff.post(page(row), {"enable_delayed_messaging": "on"}).status_code == 403
