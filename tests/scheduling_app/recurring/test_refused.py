"""A schedule whose tick PostgreSQL refuses stops alone."""

from collections.abc import Callable

import pytest
from django.db import connection
from structlog.testing import capture_logs

from channels_app.models import Channel, Producer
from scheduling_app import schedules
from scheduling_app.models import RecurringSchedule
from scheduling_app.recurring import tick
from tests.scheduling_app.recurring.schedules import at, make_schedule
from tests.scheduling_app.recurring.test_tick import channel, counted, drain, producer, times

__all__ = ["channel", "producer"]

pytestmark = pytest.mark.django_db


def refuse_a_message() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "ALTER TABLE scheduled_message ADD CONSTRAINT none_of_these CHECK (message_id NOT LIKE 'bad-%') NOT VALID"
        )


def refuse_a_count() -> None:
    RecurringSchedule.objects.filter(public_id="bad").update(ticks=2**63 - 1)


@pytest.mark.parametrize(
    ("refuse", "reason"), [(refuse_a_message, 'constraint "none_of_these"'), (refuse_a_count, "bigint out of range")]
)
@pytest.mark.parametrize("others", [0, 1, 6])
def test_a_schedule_whose_tick_cannot_be_stored_is_paused_and_the_others_tick(
    channel: Channel, producer: Producer, refuse: Callable[[], None], reason: str, others: int
) -> None:
    bad = make_schedule(channel, producer, "bad", payload=b"secret")
    good = [make_schedule(channel, producer, f"good-{n}") for n in range(others)]
    refuse()

    with capture_logs() as logged:
        assert drain(at(60)) == others

    assert [counted(schedule) for schedule in good] == [(1, 0, at(120))] * others
    bad.refresh_from_db()
    assert (bad.state, bad.paused_by, bad.next_at) == ("paused", tick.BROKER, at(60))
    assert bad.paused_note.startswith(tick.NOT_STORED)
    assert reason in bad.paused_note
    assert "secret" not in bad.paused_note
    assert [(line["event"], line["schedule"]) for line in logged] == [("schedule.stopped", "bad")]


def test_once_it_can_be_stored_it_goes_on_where_it_was(channel: Channel, producer: Producer) -> None:
    bad = make_schedule(channel, producer, "bad", missed="all")
    refuse_a_count()
    drain(at(60))
    RecurringSchedule.objects.update(ticks=0)

    schedules.resume(bad, by="ada", now=at(121))
    drain(at(121))

    assert times() == [60, 120]
    assert counted(bad) == (2, 0, at(180))
