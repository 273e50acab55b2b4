"""The dashboard's page and its numbers: who may see what, what an address may ask for, and what it costs."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from channels_app.models import ConsumerState
from reports_app.models import Report
from tests.channels_app.registry import make_channel, make_consumer, problem
from tests.channels_app.staff import log_in
from tests.watch_app import watched
from tests.watch_app.watched import MARKUP, make_event, make_now, make_series
from watch_app.admin import shown
from watch_app.admin.asked import Asked
from watch_app.admin.sight import Sight
from watch_app.admin.views import MOST_EVENTS
from watch_app.values import Cause

pytestmark = pytest.mark.django_db

PAGE, DATA = "/admin/watch/", "/admin/watch/data"
EVERYTHING = (
    "view_dashboard",
    "view_channel",
    "view_consumer",
    "view_deliveryjob",
    "view_deadletter",
    "view_message",
    "view_scheduledmessage",
)
ICONS = Path(__file__).parents[2] / "watch_app/static/watch_app/fonts/icons.txt"


@pytest.fixture
def viewer() -> Client:
    return log_in(*EVERYTHING)


def test_its_address_is_known_by_name() -> None:
    assert (reverse("admin:watch_dashboard"), reverse("admin:watch_data")) == (PAGE, DATA)


def test_a_stranger_is_sent_to_log_in_and_gets_no_numbers(stranger: Client) -> None:
    assert stranger.get(PAGE).headers["Location"] == f"/admin/login/?next={PAGE}"
    problem(stranger.get(DATA), 403, "permission_denied")


def test_staff_without_the_permission_get_no_page_no_numbers_and_no_entry() -> None:
    make_consumer(make_channel("secret-channel"), "secret-consumer")
    client = log_in("view_channel", "view_deliveryjob")
    refused = client.get(f"{PAGE}?channel=secret-channel")
    assert refused.status_code == 403
    assert b"data-figure" not in refused.content
    assert b"secret" not in refused.content
    assert "figures" not in problem(client.get(f"{DATA}?channel=secret-channel"), 403, "permission_denied")
    assert PAGE.encode() not in client.get("/admin/").content


def test_who_may_see_it_finds_it_first_in_the_sidebar_and_on_the_first_page(viewer: Client) -> None:
    page = viewer.get("/admin/")
    assert page.context["sidebar_navigation"][0]["items"][0]["title"] == "Dashboard"
    assert f'href="{PAGE}"'.encode() in page.content


def test_a_key_of_the_api_does_not_open_it(api: Client) -> None:
    problem(api.get(DATA), 403, "permission_denied")


def test_its_parts_want_the_permission_of_the_list_behind_them() -> None:
    make_consumer(make_channel("secret-channel"), "secret-consumer")
    client = log_in("view_dashboard")
    page, data = client.get(PAGE), client.get(DATA).json()
    assert page.status_code == 200
    assert b"secret" not in page.content
    assert "secret" not in repr(data)
    assert not {"letters", "letters_growth", "due_hour", "scheduled"} & data["figures"].keys()
    for part in ("consumers", "causes", "due", "ticker"):
        assert "<li" not in data["parts"][part]
        assert "<tr" not in data["parts"][part]


@pytest.mark.parametrize("path", [PAGE, DATA])
def test_events_of_others_do_not_push_out_those_that_a_viewer_may_see(path: str) -> None:
    channel = make_channel()
    Report.objects.create(asked_by="ben", created_at=timezone.now() - timedelta(hours=1))
    for number in range(MOST_EVENTS):
        make_consumer(channel, f"k{number}")
    ConsumerState.objects.update(disabled_at=timezone.now())
    answer = log_in("view_dashboard", "view_report").get(path).content.decode()
    assert "A report was asked for by ben" in answer
    assert "was disabled" not in answer


@pytest.mark.parametrize("path", [PAGE, DATA])
@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("range=1y", "unknown_range"),
        ("range=%00", "unknown_range"),
        ("channel=nobody", "unknown_channel"),
        ("channel=%00", "unknown_channel"),
        ("channel=%3Cscript%3E", "unknown_channel"),
        ("channel=orders&consumer=nobody", "unknown_consumer"),
        ("consumer=billing", "consumer_without_channel"),
        ("after=yesterday", "unknown_time"),
        ("after=-1", "unknown_time"),
        ("after=999999999999", "unknown_time"),
        ("after=1e9", "unknown_time"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(viewer: Client, path: str, query: str, code: str) -> None:
    make_channel("orders")
    answer = viewer.get(f"{path}?{query}")
    if path == DATA:
        problem(answer, 400, code)
    else:
        assert answer.status_code == 400
        assert b'role="alert"' in answer.content
        assert b"data-figure" not in answer.content
        assert b"<script>" not in answer.content.split(b'class="watch"')[1].split(b'role="alert"')[0]


@pytest.mark.parametrize("word", ["5m", "15m", "1h", "6h", "24h", "48h", "7d", "30d"])
def test_every_range_answers_for_all_a_channel_and_a_consumer(viewer: Client, word: str) -> None:
    make_consumer(make_channel("orders"), "billing")
    for whose in ("", "&channel=orders", "&channel=orders&consumer=billing", "&after=99999999999", "&after=0"):
        answer = viewer.get(f"{DATA}?range={word}{whose}")
        assert answer.status_code == 200, answer.content
        assert answer.json()["parts"].keys() == set(shown.PARTS)
    assert viewer.get(f"{PAGE}?range={word}").status_code == 200


@pytest.mark.parametrize("path", [PAGE, DATA])
def test_nothing_is_kept_by_a_cache(viewer: Client, path: str) -> None:
    assert "no-store" in viewer.get(path).headers["Cache-Control"]
    assert viewer.post(path).status_code == 405


def test_the_page_holds_the_choice(viewer: Client) -> None:
    make_consumer(make_channel("orders"), "billing")
    page = viewer.get(f"{PAGE}?range=6h&channel=orders&consumer=billing").content.decode()
    assert 'data-url="/admin/watch/data?range=6h&amp;channel=orders&amp;consumer=billing"' in page
    assert 'href="?range=24h&amp;channel=orders&amp;consumer=billing"' in page
    assert re.search(r'<a href="\?range=6h[^"]*" aria-current="true"', page)
    assert 'name="channel" list="watch-channels" value="orders"' in page


@pytest.mark.parametrize("path", [PAGE, DATA])
def test_a_hundred_consumers_cost_as_many_queries_as_one(
    viewer: Client, path: str, django_assert_max_num_queries: Any
) -> None:
    channel = make_channel("orders")
    make_consumer(channel, "billing")
    viewer.get(path)
    few = _queries(viewer, path, django_assert_max_num_queries)
    for number in range(99):
        make_consumer(channel, f"billing-{number}")
    assert _queries(viewer, path, django_assert_max_num_queries) == few


def _queries(viewer: Client, path: str, at_most: Any) -> int:
    with at_most(40) as asked:
        assert viewer.get(path).status_code == 200
    return len(asked)


def test_markup_stays_text() -> None:
    now = make_now(
        consumers=[watched.make_consumer(channel=MARKUP, consumer=MARKUP)],
        causes=[Cause(MARKUP, 3)],
        paused_channels=[MARKUP],
        depths={MARKUP: 1},
    )
    told = shown.first_look(make_series(), now, [make_event(MARKUP, kind="letter")], Asked(), Sight())
    for name in shown.PARTS:
        written = render_to_string(f"watch_app/admin/parts/{name}.html", told)
        assert "<script" not in written, name
    assert "&lt;script&gt;" in render_to_string("watch_app/admin/parts/ticker.html", told)


def test_redis_away_is_said_and_no_depth_is_made_up() -> None:
    told = shown.lists(make_series(), make_now(depths=None), [], Asked(), Sight())
    assert "Redis is away" in render_to_string("watch_app/admin/parts/depths.html", told)
    assert "data-depth" not in render_to_string("watch_app/admin/parts/depths.html", told)


def test_every_icon_on_the_page_is_in_its_font(admin_client: Client) -> None:
    page = admin_client.get(PAGE).content.decode()
    found = re.findall(r"material-symbols-outlined[^>]*>\s*([a-z0-9_]+)\s*<", page)
    assert len(found) > 20
    assert set(found) - set(ICONS.read_text().split()) == set()
