"""Publish: now or later, one or many. Each message has an id before it is sent, so sending it again stores it once."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from broker_client.flow import Answer, Flow, Request, path
from broker_client.identity import Identity
from broker_client.outgoing import Outgoing, due
from broker_client.values import Published


def publish(
    identity: Identity,
    channel: str,
    payload: Any,
    *,
    message_id: str = "",
    priority: int = 0,
    headers: Mapping[str, str] | None = None,
    content_type: str = "",
    scheduled_for: datetime | None = None,
    delay: timedelta | float | None = None,
) -> Flow[Published]:
    """Returns once the message is stored. `delay` is in seconds, or a timedelta."""
    message = Outgoing(payload, message_id, priority, headers or {}, content_type, due(scheduled_for, delay))
    said = {**message.as_headers(), **identity.as_producer(channel)}
    answer = yield Request("POST", path("channel", channel, "broadcast"), said, message.body)
    if _was_heard_before(answer):
        # It may have been dispatched meanwhile: the broker knows where it is now.
        return replace(_expected(channel, message), location=answer.headers["location"])
    return Published(message.message_id, answer.expect().headers["location"])


def publish_batch(identity: Identity, channel: str, items: Iterable[Any]) -> Flow[list[Published]]:
    """All or nothing, in order. An item is a payload, or an Outgoing where more is to be said."""
    messages = [Outgoing.of(item) for item in items]
    content = b"\n".join(json.dumps(message.as_item()).encode() for message in messages)
    said = {**identity.as_producer(channel), "Content-Type": "application/x-ndjson"}
    answer = yield Request("POST", path("channel", channel, "broadcast", "batch"), said, content)
    if _was_heard_before(answer):
        return [_expected(channel, message) for message in messages]
    places = answer.expect().json()["result"]
    return [Published(message.message_id, place) for message, place in zip(messages, places, strict=True)]


def _was_heard_before(answer: Answer) -> bool:
    """The answer to an earlier try was lost; what it asked for was done."""
    return answer.status == 409 and answer.is_repeat and answer.document().get("samePayload") is True


def _expected(channel: str, message: Outgoing) -> Published:
    kind = "message" if message.scheduled_for is None else "scheduled-message"
    return Published(message.message_id, path("channel", channel, kind, message.message_id))
