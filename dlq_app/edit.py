"""A letter is sent again with another content: as a new message, for its consumer only. The original stays."""

import json
from dataclasses import dataclass
from typing import Any

from django.db import connection

from channels_app.delivery.work import WHO, Work
from dlq_app.models import DeadLetter

MAX_MESSAGE_ID = 255

# What is not given is as it was. The message has no place in the channel's sequence: whoever polls by index would get
# it too, though it is not meant for them. The caller holds the job and the message.
_EDIT = f"""
WITH taken AS (
    INSERT INTO message_key (channel_id, message_id, row_id)
    VALUES (%(channel)s, %(message_id)s, nextval('message_id_seq'::regclass)) ON CONFLICT DO NOTHING RETURNING row_id
), stored AS (
    INSERT INTO message
        (id, channel_id, producer_id, message_id, payload, content_type, priority, headers, partition, status,
         received_at, dispatched_at)
    OVERRIDING SYSTEM VALUE
    SELECT taken.row_id, m.channel_id, m.producer_id, %(message_id)s, coalesce(%(payload)s::bytea, m.payload),
           coalesce(%(content_type)s, m.content_type), m.priority, coalesce(%(headers)s::jsonb, m.headers),
           m.partition, 101, now(), now()
    FROM taken JOIN message m ON m.id = %(original)s
    RETURNING id, channel_id, priority, partition
), made AS (
    INSERT INTO delivery_job (message_id, channel_id, consumer_id, priority, partition, expires_at)
    SELECT stored.id, stored.channel_id, %(consumer)s, stored.priority, stored.partition,
           now() + make_interval(secs => channel.max_age_seconds)
    FROM stored JOIN channel ON channel.id = stored.channel_id
    RETURNING id, consumer_id
), resolved AS (
    UPDATE dead_letter SET resolution = 'edited', resolved_at = now(), resolved_by = %(by)s, note = %(note)s,
           edited_message_id = stored.id
    FROM stored WHERE dead_letter.job_id = %(job)s
), told AS (
    INSERT INTO dead_letter_act (job_id, act, attempt, by, note)
    SELECT %(job)s, 'edited', %(attempt)s, %(by)s, %(note)s FROM stored
)
SELECT made.id, work.* FROM made CROSS JOIN ({WHO}) AS work
"""  # noqa: S608


@dataclass(frozen=True)
class Content:
    """What takes the place of the original's; None leaves it as it was."""

    payload: bytes | None = None
    content_type: str | None = None
    headers: dict[str, str] | None = None

    @property
    def is_empty(self) -> bool:
        return self.payload is None and self.content_type is None and self.headers is None


@dataclass(frozen=True)
class Edited:
    """The message that took the place of the letter's, its job, and who has work now."""

    message_id: str
    job_id: int
    work: Work


def edited_id(letter: DeadLetter) -> str:
    """A letter is edited once, so its job makes the id its own."""
    ending = f".edited-{letter.job_id}"
    return letter.message.message_id[: MAX_MESSAGE_ID - len(ending)] + ending


def edit(letter: DeadLetter, content: Content, *, by: str, note: str) -> Edited | None:
    """None: the id is taken."""
    message_id = edited_id(letter)
    parameters: dict[str, Any] = {
        "channel": letter.channel_id,
        "consumer": letter.consumer_id,
        "job": letter.job_id,
        "attempt": letter.attempts,
        "original": letter.message_id,
        "message_id": message_id,
        "payload": content.payload,
        "content_type": content.content_type,
        "headers": None if content.headers is None else json.dumps(content.headers),
        "by": by,
        "note": note,
    }
    with connection.cursor() as cursor:
        cursor.execute(_EDIT, parameters)
        row = cursor.fetchone()
    return None if row is None else Edited(message_id, row[0], Work.of(*row[1:]))
