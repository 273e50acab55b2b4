"""Callback URLs into our own network are refused where they are registered: API, file, admin."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from channels_app.api import declaration
from channels_app.models import Consumer
from tests.channels_app.registry import make_channel, make_consumer, problem, put
from tests.channels_app.staff import log_in, opened, page

pytestmark = pytest.mark.django_db
PATH = "/channel/orders/consumer/billing"
INSIDE = ["http://169.254.169.254/", "http://127.1/", "http://2130706433:8080/", "http://[::ffff:10.0.0.1]/x"]


@pytest.fixture(autouse=True)
def nothing_allowed(settings: Any) -> None:
    settings.EGRESS_ALLOW = ["hooks.internal", "10.1.0.0/16"]


@pytest.mark.parametrize("url", [*INSIDE, "http://localhost/", "https://app.localhost/"])
def test_the_api_refuses_it(api: Client, url: str) -> None:
    make_channel()

    refused = problem(put(api, PATH, {"callbackUrl": url}), 400, "egress_denied")

    assert [(error["field"], error["code"]) for error in refused["errors"]] == [("callbackUrl", "egress_denied")]
    assert not Consumer.objects.exists()


@pytest.mark.parametrize("url", ["http://10.1.2.3/", "http://hooks.internal:8080/", "http://not-looked-up.test/"])
def test_what_is_allowed_or_a_name_is_registered(api: Client, url: str) -> None:
    make_channel()

    assert put(api, PATH, {"callbackUrl": url}).status_code == 201


def test_a_file_that_declares_it_is_refused_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "broker.toml"
    file.write_text("[channels.orders.consumers.billing]\ncallbackUrl = 'http://10.0.0.1/'\n")

    with pytest.raises(
        declaration.InvalidDeclaration, match=r"channels\.orders\.consumers\.billing\.callbackUrl: Mess"
    ):
        declaration.apply(file)


def test_the_admin_says_so_at_the_field_and_keeps_what_there_is() -> None:
    consumer = make_consumer(make_channel(), callback_url="http://127.0.0.1:9/")
    client = log_in("view_consumer", "change_consumer", "view_channel")
    form = opened(client, page(consumer))

    refused = client.post(page(consumer), {**form, "callback_url": "http://0x7f.1/"})
    odd = client.post(page(consumer), {**form, "callback_url": "http://[::1"})
    other = client.post(page(consumer), {**form, "name": "Renamed"})

    assert "EGRESS_ALLOW" in str(refused.context["adminform"].form.errors["callback_url"])
    assert odd.context["adminform"].form.errors["callback_url"]
    assert other.status_code == 302
    consumer.refresh_from_db()
    assert (consumer.callback_url, consumer.name) == ("http://127.0.0.1:9/", "Renamed")
