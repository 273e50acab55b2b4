"""All letters that match are queued again: an operation, which goes in batches, can be stopped, and is watched."""

from typing import Any

from channels_app.admin.lists import MOST_COUNTED, count_up_to_a_limit
from channels_app.models import Channel, Operation
from channels_app.operations import acts
from dlq_app import overview
from dlq_app.admin.acting import highest_open
from dlq_app.filters import LetterFilter

KIND = "redrive"


def start_redrive(meant: LetterFilter, *, by: str, note: str, rate: int | None) -> Operation:
    """`rate`: so many a second; None: as fast as it goes. What enters from now on is not meant."""
    parameters: dict[str, Any] = {"filter": meant.as_parameters(), "note": note, "ratePerSecond": rate}
    channel = Channel.objects.defer("token").filter(pk=meant.channel_id).first() if meant.channel_id else None
    return acts.start(kind=KIND, channel=channel, parameters=parameters, until=highest_open(), by=by)


def how_many(meant: LetterFilter) -> str:
    """From counters where they know it; else counted, up to a limit."""
    known = LetterFilter(channel_id=meant.channel_id, consumer_id=meant.consumer_id, reason=meant.reason)
    if meant == known:
        return f"{overview.counted(meant):,}"
    found = count_up_to_a_limit(meant.letters())
    return f"{found:,}{' or more' if found == MOST_COUNTED else ''}"
