"""Messages for later go with the message that they became, or by themselves when they were cancelled."""

import pytest
from django.test import Client

from channels_app import counts
from channels_app.models import Channel, Consumer
from reports_app.models import LakeKind
from reports_app.prune import sweep
from scheduling_app.models import ScheduledMessage, ScheduledStatus
from tests.channels_app.registry import problem
from tests.reports_app.lake import export, left, make_old, make_scheduled

pytestmark = pytest.mark.django_db


def test_a_message_takes_the_message_for_later_that_it_was_along(channel: Channel, consumer: Consumer) -> None:
    make_scheduled(channel, "later", ScheduledStatus.DISPATCHED)
    make_old(channel, "later")
    export(*(kind for kind in LakeKind if kind != LakeKind.SCHEDULED))
    assert sweep.sweep().gone.total == 0

    export()
    sweep.sweep()
    assert "later" not in left()
    assert not ScheduledMessage.objects.exists()
    assert not counts.check().total


def test_a_cancelled_one_goes_and_one_that_waits_or_was_set_aside_stays(channel: Channel, api: Client) -> None:
    make_scheduled(channel, "cancelled", ScheduledStatus.CANCELLED)
    make_scheduled(channel, "young", ScheduledStatus.CANCELLED, days=3)
    make_scheduled(channel, "waiting", ScheduledStatus.SCHEDULED)
    make_scheduled(channel, "aside", ScheduledStatus.SET_ASIDE)
    assert sweep.sweep().gone.total == 0
    export()
    sweep.sweep()

    assert set(ScheduledMessage.objects.values_list("message_id", flat=True)) == {"young", "waiting", "aside"}
    assert not counts.check().total
    problem(api.get("/channel/orders/scheduled-message/cancelled"), 410, "message_pruned")
    problem(api.get("/channel/orders/message/cancelled"), 404, "unknown_message")
