"""What the engine does for a channel or a consumer, in words, and the acts of staff: pause, resume, rotate."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from channels_app.models import Channel, ChannelState, Consumer, ConsumerState, DeliveryJob, Message
from tests.channels_app.registry import make_channel, make_consumer
from tests.channels_app.staff import history, log_in, page, pages

LATER = datetime(2100, 1, 2, 3, 4, 5, tzinfo=UTC)
SINCE = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _database(db: None) -> None:
    pass


@pytest.fixture
def consumer() -> Consumer:
    return make_consumer(make_channel())


def act(name: str, *rows: Any, **more: str) -> dict[str, Any]:
    return {"action": name, "_selected_action": [row.pk for row in rows], **more}


def set_state(consumer: Consumer, **values: Any) -> None:
    ConsumerState.objects.filter(pk=consumer.pk).update(**values)


@pytest.mark.parametrize(
    ("values", "word", "text"),
    [
        ({}, "delivering", "Delivering."),
        ({"paused_at": SINCE}, "paused", f"Paused since {SINCE:%Y-%m-%d %H:%M:%S} UTC."),
        (
            {"disabled_at": SINCE, "disabled_reason": "gone"},
            "disabled",
            f"Disabled since {SINCE:%Y-%m-%d %H:%M:%S} UTC because it answered 410 (gone).",
        ),
        (
            {"breaker_opened_at": SINCE, "breaker_until": LATER, "streak": 50},
            "breaker open",
            f"Breaker open until {LATER:%Y-%m-%d %H:%M:%S} UTC, after 50 failures in a row.",
        ),
        ({"breaker_until": SINCE, "streak": 50}, "breaker half open", "the next delivery is a probe."),
    ],
)
def test_a_consumer_says_what_holds_it_up(
    admin_client: Client, consumer: Consumer, values: dict[str, Any], word: str, text: str
) -> None:
    set_state(consumer, **values)
    assert text in admin_client.get(page(consumer)).content.decode()
    assert word in admin_client.get(pages(Consumer)).content.decode()


def test_a_paused_channel_and_its_consumers_say_so(admin_client: Client, consumer: Consumer) -> None:
    ChannelState.objects.update(paused_at=SINCE)
    assert "Paused since" in admin_client.get(page(consumer.channel)).content.decode()
    assert "Its channel is paused since" in admin_client.get(page(consumer)).content.decode()


def test_lists_are_filtered_by_what_holds_a_row_up(admin_client: Client) -> None:
    channel = make_channel()
    kinds = {
        "delivering": {},
        "paused": {"paused_at": SINCE},
        "disabled": {"disabled_at": SINCE},
        "breaker": {"breaker_until": LATER},
    }
    for name, values in kinds.items():
        set_state(make_consumer(channel, name), **values)
    for name in kinds:
        rows = admin_client.get(pages(Consumer), {"delivery": name}).context["cl"].result_list
        assert [row.public_id for row in rows] == [name]
    assert len(admin_client.get(pages(Consumer), {"delivery": "?"}).context["cl"].result_list) == 4
    assert not admin_client.get(pages(Channel), {"delivery": "paused"}).context["cl"].result_list


def test_what_is_held_up_twice_is_listed_by_the_stronger(admin_client: Client) -> None:
    paused = make_channel("paused")
    ChannelState.objects.filter(channel=paused).update(paused_at=SINCE)
    everything = {"disabled_at": SINCE, "paused_at": SINCE, "breaker_until": LATER}
    set_state(make_consumer(paused, "disabled"), **everything)
    set_state(make_consumer(paused, "paused"), paused_at=SINCE, breaker_until=LATER)
    set_state(make_consumer(paused, "channel"), breaker_until=LATER)
    set_state(make_consumer(make_channel(), "delivering", circuit_breaker=False), breaker_until=LATER)
    for name in ("disabled", "paused", "channel", "delivering"):
        rows = admin_client.get(pages(Consumer), {"delivery": name}).context["cl"].result_list
        assert [row.public_id for row in rows] == [name]
    assert "Delivering." in admin_client.get(page(rows[0])).content.decode()
    for name, count in (("disabled", 1), ("delivering", 0)):
        of_channel = {"delivery": name, "channel__id__exact": str(paused.pk)}
        assert len(admin_client.get(pages(Consumer), of_channel).context["cl"].result_list) == count


@pytest.mark.parametrize("model", [Channel, Consumer])
def test_staff_pause_and_resume_after_a_question_and_it_is_noted(admin_client: Client, model: Any) -> None:
    make_consumer(make_channel())
    row = model.objects.get()
    asked = admin_client.post(pages(model), act("pause", row))
    assert f"Pause {row}?" in asked.content.decode()
    assert model.objects.get().state.paused_at is None
    admin_client.post(pages(model), act("pause", row, confirmed="yes"))
    assert model.objects.get().state.paused_at is not None
    assert "Resume" in admin_client.get(page(row)).content.decode()
    back = admin_client.post(pages(model), act("resume", row, confirmed="yes", from_page="yes"))
    assert back["Location"] == page(row)
    assert model.objects.get().state.paused_at is None
    assert history(row) == ["Paused", "Resumed"]


def test_resuming_lets_a_disabled_consumer_start_afresh(admin_client: Client, consumer: Consumer) -> None:
    set_state(consumer, disabled_at=SINCE, disabled_reason="gone", breaker_until=LATER)
    admin_client.post(pages(Consumer), act("resume", consumer, confirmed="yes"))
    assert "Delivering." in admin_client.get(page(consumer)).content.decode()


def test_the_button_of_a_page_asks_and_comes_back_to_it(admin_client: Client, consumer: Consumer) -> None:
    pause = next(act for act in admin_client.get(page(consumer)).context["acts"] if act.title == "Pause")
    asked = admin_client.post(pause.url, pause.fields)
    done = admin_client.post(pause.url, asked.context["question"].fields)
    assert done["Location"] == page(consumer)
    assert Consumer.objects.get().state.paused_at is not None


@pytest.mark.parametrize("name", ["pause", "resume", "rotate_secret"])
def test_who_may_only_look_holds_nothing_up(consumer: Consumer, name: str) -> None:
    client = log_in("view_consumer", "view_channel")
    secret = consumer.signing_secret
    set_state(consumer, streak=7)
    client.post(pages(Consumer), act(name, consumer, confirmed="yes"))
    after = Consumer.objects.select_related("state").get()
    assert (after.state.paused_at, after.state.streak, after.signing_secret) == (None, 7, secret)
    assert history(consumer) == []
    assert not [act for act in client.get(page(consumer)).context["acts"] if act.posts]


def test_a_rotated_secret_is_shown_to_who_may_see_it_and_the_one_before_signs_along(consumer: Consumer) -> None:
    client = log_in("view_consumer", "change_consumer", "reveal_token")
    before = consumer.signing_secret
    assert b"24 hours" in client.post(pages(Consumer), act("rotate_secret", consumer)).content
    shown = client.post(pages(Consumer), act("rotate_secret", consumer, confirmed="yes"))
    after = Consumer.objects.get()
    assert after.signing_secret != before
    assert (after.previous_secret, shown.context["secret"]) == (before, after.signing_secret)
    assert "signs along until" in client.get(page(consumer)).content.decode()
    assert history(consumer) == ["Rotated the signing secret"]


def test_a_rotated_secret_is_not_shown_to_who_may_not_see_it(consumer: Consumer) -> None:
    client = log_in("view_consumer", "change_consumer")
    answer = client.post(pages(Consumer), act("rotate_secret", consumer, confirmed="yes"), follow=True)
    assert Consumer.objects.get().signing_secret not in answer.content.decode()
    assert history(consumer) == ["Rotated the signing secret"]


def test_a_channel_and_a_consumer_lead_to_their_jobs(admin_client: Client, consumer: Consumer) -> None:
    own = f"{pages(DeliveryJob)}?consumer__id__exact={consumer.pk}"
    assert own in admin_client.get(page(consumer)).content.decode()
    shown = admin_client.get(page(consumer.channel)).content.decode()
    assert f"{pages(DeliveryJob)}?channel__id__exact={consumer.channel.pk}" in shown
    assert f"{pages(Message)}?channel__id__exact={consumer.channel.pk}" in shown


def test_no_page_reads_a_signing_secret(admin_client: Client, consumer: Consumer) -> None:
    with CaptureQueriesContext(connection) as captured:
        admin_client.get(pages(Consumer))
        admin_client.get(page(consumer))
    assert not [entry["sql"] for entry in captured if '_secret"' in entry["sql"]]
