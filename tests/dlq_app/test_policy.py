"""A channel's dead letter policy over HTTP."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from channels_app.models import Channel
from channels_app.models.channel import DeadLetters
from channels_app.reasons import Reason
from dlq_app.models import DeadLetterPolicy
from tests.channels_app.registry import problem, put
from tests.channels_app.staff import log_in

pytestmark = pytest.mark.django_db

PATH = "/channel/orders/dead-letter-policy"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "dead-letters.md"
DEFAULTS = {"retentionDays": None, "autoRedrive": False, "alertDepth": None, "alertAgeSeconds": None}


@pytest.mark.usefixtures("channel")
def test_without_a_word_everything_is_off(api: Client) -> None:
    answer = api.get(PATH)

    assert (answer.status_code, json.loads(answer.content)) == (200, DEFAULTS)
    assert not DeadLetterPolicy.objects.exists()


@pytest.mark.usefixtures("channel")
def test_what_is_left_out_keeps_its_value_and_null_resets(api: Client) -> None:
    wanted = {"retentionDays": 30, "autoRedrive": True, "alertDepth": 100, "alertAgeSeconds": 3600}

    assert put(api, PATH, wanted).json() == wanted
    assert put(api, PATH, {"alertDepth": 5}).json() == {**wanted, "alertDepth": 5}
    assert put(api, PATH, {"autoRedrive": None, "retentionDays": None}).json() == {
        **DEFAULTS,
        "alertDepth": 5,
        "alertAgeSeconds": 3600,
    }
    assert api.get(PATH).json() == {**DEFAULTS, "alertDepth": 5, "alertAgeSeconds": 3600}


@pytest.mark.usefixtures("channel")
@pytest.mark.parametrize(
    "body",
    [
        {"retentionDays": 0},
        {"retentionDays": "7"},
        {"alertDepth": 10**12},
        {"alertAgeSeconds": -1},
        {"autoRedrive": "yes"},
        {"unheardOf": 1},
        [],
    ],
)
def test_what_is_not_valid_changes_nothing(api: Client, body: Any) -> None:
    answer = api.put(PATH, json.dumps(body), content_type="application/json")

    assert answer.status_code == 400
    assert answer["Content-Type"] == "application/problem+json"
    assert not DeadLetterPolicy.objects.exists()


def test_an_unknown_channel_is_404(api: Client) -> None:
    problem(api.get(PATH), 404, "unknown_channel")
    problem(put(api, PATH, {"alertDepth": 1}), 404, "unknown_channel")


def test_it_is_for_managers_only(channel: Channel, stranger: Client) -> None:
    token = {"X-Broker-Channel-Token": channel.token}

    assert stranger.get(PATH).status_code == 401
    assert stranger.get(PATH, headers=token).status_code == 401
    assert put(stranger, PATH, {"alertDepth": 1}).status_code == 401


@pytest.mark.usefixtures("channel")
def test_staff_need_the_permission_to_change_it() -> None:
    reader = log_in("view_deadletterpolicy")
    assert reader.get(PATH).status_code == 200
    problem(put(reader, PATH, {"alertDepth": 1}), 403, "permission_denied")
    assert not DeadLetterPolicy.objects.exists()


def test_the_page_tells_every_reason_every_field_and_how_letters_are_turned_off() -> None:
    page = PAGE.read_text()
    told = {name for row in re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}

    assert set(Reason) | DEFAULTS.keys() <= told
    assert f'"deadLetters": "{DeadLetters.DROP}"' in page
