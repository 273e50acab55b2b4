"""Recurring schedules on staff's pages: how they stand, what comes, and the acts."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from channels_app.models import Channel, Producer
from scheduling_app import schedules
from scheduling_app.models import RecurringSchedule, ScheduledMessage
from tests.channels_app.registry import make_channel, make_producer
from tests.channels_app.staff import history, log_in, page, pages
from tests.scheduling_app.recurring.schedules import make_schedule

pytestmark = pytest.mark.django_db


@pytest.fixture
def channel() -> Channel:
    return make_channel("orders")


@pytest.fixture
def producer() -> Producer:
    return make_producer("shop")


@pytest.fixture
def schedule(channel: Channel, producer: Producer) -> RecurringSchedule:
    return make_schedule(channel, producer, cron="30 2 * * *", timezone="Europe/Berlin", payload=b"<b>{{tick}}</b>")


def act(name: str, *rows: RecurringSchedule, **more: str) -> dict[str, Any]:
    return {"action": name, "_selected_action": [row.pk for row in rows], **more}


def listed(client: Client, **query: str) -> list[str]:
    return [row.public_id for row in client.get(pages(RecurringSchedule), query).context["cl"].result_list]


def test_the_page_shows_how_it_stands_and_the_next_ten_ticks(admin_client: Client, schedule: RecurringSchedule) -> None:
    shown = admin_client.get(page(schedule))

    text = shown.content.decode()
    assert "Ticks next on" in text
    assert "30 2 * * * (Europe/Berlin)" in text
    assert "&lt;b&gt;{{tick}}&lt;/b&gt;" in text
    assert len(shown.context["coming"]) == 10
    assert shown.context["coming"][0]["local"] in text


def test_lists_are_filtered_by_state(admin_client: Client, channel: Channel, producer: Producer) -> None:
    rows = {name: make_schedule(channel, producer, name) for name in ("active", "paused", "ended", "deleted")}
    schedules.pause(rows["paused"], by="ada", note="why not")
    RecurringSchedule.objects.filter(public_id__in=("ended", "deleted")).update(next_at=None)
    RecurringSchedule.objects.filter(public_id="deleted").update(deleted_at=rows["deleted"].created_at)

    for state in rows:
        assert listed(admin_client, state=state) == [state]
    assert listed(admin_client) == ["ended", "paused", "active"]
    assert "by ada: why not" in admin_client.get(page(rows["paused"])).content.decode()
    assert "It will not tick any more." in admin_client.get(page(rows["ended"])).content.decode()
    assert not admin_client.get(page(rows["deleted"])).context["acts"]


def test_staff_pause_with_a_note_and_resume_and_it_is_audited(
    admin_client: Client, schedule: RecurringSchedule
) -> None:
    asked = admin_client.post(pages(RecurringSchedule), act("pause", schedule))
    assert 'name="note"' in asked.content.decode()
    schedule.refresh_from_db()
    assert schedule.paused_at is None

    back = admin_client.post(
        pages(RecurringSchedule), act("pause", schedule, confirmed="yes", note="moving", from_page="yes")
    )
    schedule.refresh_from_db()
    assert (schedule.paused_by, schedule.paused_note) == ("admin", "moving")
    assert back["Location"] == page(schedule)
    admin_client.post(pages(RecurringSchedule), act("resume", schedule, confirmed="yes"))
    schedule.refresh_from_db()
    assert schedule.paused_at is None
    assert history(schedule) == ["Paused: moving", "Resumed"]


def test_the_buttons_of_a_paused_one_lead_to_it(admin_client: Client, schedule: RecurringSchedule) -> None:
    schedules.pause(schedule, by="ada")
    acts = admin_client.get(page(schedule)).context["acts"]
    assert [one.title for one in acts] == ["Resume", "Run once now"]

    asked = admin_client.post(acts[0].url, acts[0].fields)
    done = admin_client.post(acts[0].url, asked.context["question"].fields)

    assert done["Location"] == page(schedule)
    schedule.refresh_from_db()
    assert schedule.paused_at is None


def test_run_once_makes_a_message_now(admin_client: Client, schedule: RecurringSchedule) -> None:
    admin_client.post(pages(RecurringSchedule), act("run_once", schedule))
    assert not ScheduledMessage.objects.exists()

    admin_client.post(pages(RecurringSchedule), act("run_once", schedule, confirmed="yes"))

    assert ScheduledMessage.objects.get().message_id.endswith("-by-hand")
    assert history(schedule) == ["Run once"]


def test_one_that_cannot_be_read_here_is_shown_and_says_so(admin_client: Client, schedule: RecurringSchedule) -> None:
    schedules.pause(schedule, by="ada")
    RecurringSchedule.objects.update(timezone="Mars/Olympus")

    assert "30 2 * * * (Mars/Olympus)" in admin_client.get(pages(RecurringSchedule)).content.decode()
    assert "there is no time zone Mars/Olympus" in admin_client.get(page(schedule)).content.decode()
    answer = admin_client.post(pages(RecurringSchedule), act("resume", schedule, confirmed="yes"), follow=True)
    assert "there is no time zone Mars/Olympus" in answer.content.decode()
    assert history(schedule) == []


def test_only_what_was_paused_is_reported_and_audited(
    admin_client: Client, schedule: RecurringSchedule, channel: Channel, producer: Producer
) -> None:
    other = make_schedule(channel, producer, "other")
    schedules.pause(other, by="ada")

    told = told_by(admin_client, pages(RecurringSchedule), act("pause", schedule, other, confirmed="yes"))
    again = told_by(admin_client, pages(RecurringSchedule), act("pause", schedule, other, confirmed="yes"))

    assert told == [("success", "Paused: report.")]
    assert again == [("warning", "Paused: none, for they stand so already.")]
    assert (history(schedule), history(other)) == (["Paused"], [])


def test_a_selection_that_holds_none_any_more_is_warned_of(admin_client: Client, schedule: RecurringSchedule) -> None:
    told = told_by(admin_client, f"{pages(RecurringSchedule)}?state=paused", act("resume", schedule, confirmed="yes"))

    assert told == [("warning", "None of the selected is there any more: nothing was done.")]
    assert history(schedule) == []


def told_by(client: Client, path: str, posted: dict[str, Any]) -> list[tuple[str, str]]:
    answer = client.post(path, posted, follow=True)
    return [(told.level_tag, str(told)) for told in answer.context["messages"]]


@pytest.mark.parametrize("name", ["pause", "resume", "run_once"])
def test_who_may_only_look_does_nothing(schedule: RecurringSchedule, name: str) -> None:
    client = log_in("view_recurringschedule")
    if name == "resume":
        schedules.pause(schedule, by="ada")
    before = RecurringSchedule.objects.values().get()

    client.post(pages(RecurringSchedule), act(name, schedule, confirmed="yes"))

    assert RecurringSchedule.objects.values().get() == before
    assert not ScheduledMessage.objects.exists()
    assert history(schedule) == []
    assert not client.get(page(schedule)).context["acts"]


def test_the_sidebar_leads_there_for_who_may_look(schedule: RecurringSchedule) -> None:
    assert pages(RecurringSchedule) in log_in("view_recurringschedule").get("/admin/").content.decode()


def test_a_list_reads_no_payload_and_no_token_and_costs_the_same_for_many(
    admin_client: Client, channel: Channel, producer: Producer
) -> None:
    counts = []
    for number in range(2):
        for more in range(1 + 5 * number):
            make_schedule(channel, producer, f"s{number}-{more}")
        with CaptureQueriesContext(connection) as captured:
            admin_client.get(pages(RecurringSchedule))
        counts.append(len(captured))
        assert not [one["sql"] for one in captured if '"payload"' in one["sql"] or '"token"' in one["sql"]]

    assert counts[0] == counts[1]
