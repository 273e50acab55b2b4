"""A channel's partitions, spread and release, by every door of the registry."""

from pathlib import Path

import pytest
from django.test import Client

from channels_app.api import declaration
from channels_app.api.shapes import ChannelIn
from channels_app.models import Channel
from tests.channels_app.registry import make_channel, put
from tests.channels_app.staff import opened, page, pages

pytestmark = pytest.mark.django_db

DOCUMENT = Path(__file__).parents[2] / "docs" / "registry.md"
GIVEN = {"partitions": 8, "spreadSeconds": 2.5, "releasePerSecond": 200.0}


def kept() -> tuple[int, float | None, float | None]:
    channel = Channel.objects.named("orders").get()
    return channel.partitions, channel.spread_seconds, channel.release_per_second


def test_they_are_put_and_got_and_null_takes_them_away(api: Client) -> None:
    made = put(api, "/channel/orders", GIVEN)
    assert made.status_code == 201
    assert GIVEN.items() <= api.get("/channel/orders").json().items()
    assert kept() == (8, 2.5, 200)

    gone = put(api, "/channel/orders", dict.fromkeys(GIVEN), if_match=made["ETag"])
    assert {name: gone.json()[name] for name in GIVEN} == {
        "partitions": 1,
        "spreadSeconds": None,
        "releasePerSecond": None,
    }


def test_a_form_may_carry_them(api: Client) -> None:
    form = "partitions=8&spreadSeconds=2.5&releasePerSecond=200"
    made = api.put("/channel/orders", form, content_type="application/x-www-form-urlencoded")
    assert made.status_code == 201
    assert kept() == (8, 2.5, 200)


def test_they_are_declared_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "broker.toml"
    file.write_text("[channels.orders]\npartitions = 8\nspreadSeconds = 2.5\nreleasePerSecond = 200\n")
    declaration.apply(file)
    assert kept() == (8, 2.5, 200)
    assert declaration.apply(file).unchanged == ["channels.orders"]
    file.write_text("[channels.orders]\nspreadSeconds = 0\n")
    with pytest.raises(declaration.InvalidDeclaration, match="spreadSeconds"):
        declaration.apply(file)


def test_staff_type_them_into_the_form_and_blank_takes_them_away(admin_client: Client) -> None:
    typed = {"partitions": "8", "spread_seconds": "2.5", "release_per_second": "200"}
    admin_client.post(
        pages(Channel, "add"), {**opened(admin_client, pages(Channel, "add")), "public_id": "orders", **typed}
    )
    assert kept() == (8, 2.5, 200)
    channel = Channel.objects.named("orders").get()
    blank = {"spread_seconds": "", "release_per_second": ""}
    admin_client.post(page(channel), {**opened(admin_client, page(channel)), **blank})
    assert kept() == (8, None, None)


@pytest.mark.parametrize("field", ["spread_seconds", "release_per_second"])
@pytest.mark.parametrize("typed", ["0", "-1", "nan", "much", "1e12"])
def test_a_form_refuses_what_cannot_be_beside_its_field(admin_client: Client, field: str, typed: str) -> None:
    channel = make_channel("orders")
    refused = admin_client.post(page(channel), {**opened(admin_client, page(channel)), field: typed})
    assert set(refused.context["adminform"].form.errors) == {field}
    assert kept() == (1, None, None)


def test_they_are_in_the_openapi_document_with_their_limits(client: Client) -> None:
    shapes = client.get("/openapi.json").json()["components"]["schemas"]
    taken, shown = shapes["ChannelInRequest"]["properties"], shapes["ChannelOut"]["properties"]
    limits = {name: (taken[name]["minimum"], taken[name]["maximum"]) for name in GIVEN}
    assert limits == {"partitions": (1, 64), "spreadSeconds": (0.001, 86400), "releasePerSecond": (0.001, 1_000_000)}
    assert shown.keys() >= GIVEN.keys()


def test_every_field_of_a_channel_is_documented() -> None:
    text = DOCUMENT.read_text()
    of_channel = text[text.index("## Channel") : text.index("## Consumer")]
    names = {str(name) for name in ChannelIn().fields} - {"name", "token"}
    assert {name for name in names if f"`{name}`" not in of_channel} == set()
