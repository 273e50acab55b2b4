"""`manage.py prune`: all of it now, or how much it would be."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from channels_app.models import Channel, Consumer, MessageKey
from reports_app.models import LakeSlice
from scheduling_app.models import ScheduledStatus
from tests.channels_app.registry import make_channel
from tests.reports_app.lake import export, left, make_old, make_scheduled, rows_left

pytestmark = pytest.mark.django_db


def test_a_dry_run_says_how_many_and_changes_nothing(channel: Channel, consumer: Consumer) -> None:
    make_old(channel, "one", "two")
    make_scheduled(channel, "cancelled", ScheduledStatus.CANCELLED)
    other = make_channel("other", retention_days=1)
    make_old(other, "three")
    export()
    before = rows_left()

    said, of_one = StringIO(), StringIO()
    call_command("prune", "--dry-run", stdout=said)
    call_command("prune", "--dry-run", "--channel", "other", stdout=of_one)

    assert said.getvalue().splitlines() == [
        "orders: 2 message rows, 2 job rows, 1 scheduled rows, 2 attempt rows, 0 letter act rows",
        "other: 1 message rows, 0 job rows, 0 scheduled rows, 0 attempt rows, 0 letter act rows",
    ]
    assert of_one.getvalue().splitlines() == said.getvalue().splitlines()[1:]
    assert rows_left() == before
    assert not LakeSlice.objects.filter(pruned_at__isnull=False).exists()
    assert not MessageKey.objects.filter(pruned_at__isnull=False).exists()


def test_the_command_prunes_one_channel_or_all(channel: Channel, consumer: Consumer) -> None:
    make_old(channel, "one")
    make_old(make_channel("other", retention_days=1), "two")
    export()

    call_command("prune", "--channel", "other", stdout=StringIO())
    assert left() == {"one"}
    call_command("prune", stdout=StringIO())
    assert left() == set()
    with pytest.raises(CommandError, match="no such channel"):
        call_command("prune", "--channel", "nobody")
