"""What is left of a pruned message: its key, when it went, and where."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from channels_app.models import Channel, Consumer, Message, MessageKey
from reports_app.models import LakeKind, LakeSlice
from reports_app.prune import sweep
from scheduling_app.models import ScheduledStatus
from spark_analytics.tables import TABLES
from tests.channels_app.messages import make_messages
from tests.channels_app.registry import problem
from tests.reports_app.lake import export, make_old, make_scheduled, run

pytestmark = pytest.mark.django_db


def test_its_key_stays_and_says_when_it_went(channel: Channel, consumer: Consumer) -> None:
    make_old(channel, "old")
    make_old(channel, "other")
    export()
    LakeSlice.objects.filter(kind=LakeKind.MESSAGE).update(last_id=Message.objects.get(message_id="old").pk)
    sweep.sweep()

    assert MessageKey.objects.get(message_id="old").pruned_at is not None
    assert MessageKey.objects.get(message_id="other").pruned_at is None


def test_a_pruned_message_is_410_with_when_and_where_it_went(channel: Channel, consumer: Consumer, api: Client) -> None:
    [old] = make_old(channel, "old")
    export()
    sweep.sweep()

    for path in ("message/old", "task/old", "scheduled-message/old"):
        told = problem(api.get(f"/channel/orders/{path}"), 410, "message_pruned")
        assert timezone.now().strftime("%Y-%m-%dT") in told["detail"]
        assert "lake" in told["detail"]
        assert told["lake"] == {"table": "message", "path": "message/Message", "rowId": str(old.pk)}
    problem(api.delete("/channel/orders/message/old"), 410, "message_pruned")
    problem(api.get("/channel/orders/message/never"), 404, "unknown_message")


def test_its_id_stays_taken_and_is_free_after_its_days(channel: Channel, consumer: Consumer, settings: Any) -> None:
    make_old(channel, "old")
    export()
    sweep.sweep()

    run("UPDATE message_key SET pruned_at = now() - interval '399 days'")
    sweep.sweep()
    assert MessageKey.objects.count() == 1
    settings.ID_RETENTION_DAYS = 0
    run("UPDATE message_key SET pruned_at = now() - interval '401 days'")
    sweep.sweep()
    assert MessageKey.objects.count() == 1
    settings.ID_RETENTION_DAYS = 400
    make_messages(channel, "live")
    sweep.sweep()
    assert [key.message_id for key in MessageKey.objects.all()] == ["live"]


def test_of_a_cancelled_message_for_later_it_is_the_row_that_it_was(channel: Channel, api: Client) -> None:
    row = make_scheduled(channel, "cancelled", ScheduledStatus.CANCELLED)
    export()
    sweep.sweep()

    told = problem(api.get("/channel/orders/scheduled-message/cancelled"), 410, "message_pruned")
    assert told["lake"] == {"table": "scheduled", "path": "scheduled/Scheduled", "rowId": str(row.pk)}


def test_the_slice_is_the_one_that_is_live_now(channel: Channel, consumer: Consumer, api: Client) -> None:
    [old] = make_old(channel, "old")
    export()
    sweep.sweep()
    LakeSlice.objects.filter(kind=LakeKind.MESSAGE).update(path="1-5-again")
    later = 10**9
    LakeSlice.objects.create(
        kind=LakeKind.MESSAGE, first_id=later, last_id=later, row_count=1, checksum=1, path="elsewhere"
    )

    told = problem(api.get("/channel/orders/message/old"), 410, "message_pruned")
    assert told["lake"] == {"table": "message", "path": "message/1-5-again", "rowId": str(old.pk)}


def test_without_the_manifest_s_row_it_is_still_410(channel: Channel, consumer: Consumer, api: Client) -> None:
    make_old(channel, "old")
    export()
    sweep.sweep()
    LakeSlice.objects.all().delete()

    assert "lake" not in problem(api.get("/channel/orders/message/old"), 410, "message_pruned")


def test_tables_are_named_as_in_the_lake() -> None:
    assert {kind.value: kind.name.lower() for kind in LakeKind} == {table.kind: table.name for table in TABLES}
