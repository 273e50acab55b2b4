"""What a tick says: the schedule's payload with four words filled in, and every other byte as it was."""

import re
from datetime import datetime

_WORD = re.compile(rb"\{\{(tick|scheduled_for|schedule|channel)\}\}")
# What was sent by hand has an id of its own beside the tick of the same second.
BY_HAND = "-by-hand"


def stamp(tick: datetime) -> str:
    """As in 20261231T235959Z. Ticks are whole seconds, in UTC."""
    return f"{tick:%Y%m%dT%H%M%SZ}"


def message_id(schedule: str, tick: datetime) -> str:
    return f"{schedule}-{stamp(tick)}"


def job_message_id(job: str, row_id: int, tick: datetime) -> str:
    """A job that is overwritten is another one: its first run may be in a second in which the old one ran."""
    return message_id(f"{job}-{row_id}", tick)


def render(template: bytes, *, channel: str, schedule: str, tick: datetime) -> bytes:
    """`{{tick}}` is as in the message id, `{{scheduled_for}}` the same in RFC 3339."""
    words = {
        b"tick": stamp(tick),
        b"scheduled_for": f"{tick:%Y-%m-%dT%H:%M:%SZ}",
        b"schedule": schedule,
        b"channel": channel,
    }
    return _WORD.sub(lambda found: words[found[1]].encode(), template)
