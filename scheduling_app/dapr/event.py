"""One event on its way in: its metadata decides when it goes, for how long, and in which envelope."""

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from channels_app.delivery.accept import Incoming
from channels_app.registry import Entry
from scheduling_app.accept import Dapr
from scheduling_app.dapr import cloudevents, metadata
from scheduling_app.dapr.caller import Caller
from scheduling_app.dapr.cloudevents import Kind, Place, Trace, kind_of
from scheduling_app.dapr.components import Pubsub
from scheduling_app.dapr.errors import DelayRefused, InvalidMetadata
from scheduling_app.dapr.listings import listing_of
from scheduling_app.dapr.metadata import Wishes
from scheduling_app.dapr.moments import moment
from scheduling_app.door.bounds import DEFAULT_CONTENT_TYPE, MAX_CONTENT_TYPE
from scheduling_app.door.commits import Arrived
from scheduling_app.door.later import spread_over
from scheduling_app.door.loads import least_loaded

MAX_ENTRY_ID = 255
_TEXT = re.compile(r"[^\x00\ud800-\udfff]*", re.DOTALL)
# It is sent on as a header: nothing in it may break one.
_CONTENT_TYPE = re.compile(r"[\x21-\x7e][\x20-\x7e]*")


class Event(NamedTuple):
    """What a client published, as it came."""

    pubsub: Pubsub
    topic: str
    data: bytes
    content_type: str
    metadata: Mapping[str, str]
    trace: Trace
    # Of a bulk request.
    entry_id: str | None = None


class Ready(NamedTuple):
    """An event that is in order. `asked`: when it goes, in microseconds since 1970, if not now."""

    payload: bytes
    content_type: str
    wishes: Wishes
    asked: int | None
    dapr: Dapr | None


def read(caller: Caller, event: Event) -> Ready:
    """Everything that can be said against an event is said here, before a topic is made for it."""
    wishes = metadata.read(event.metadata)
    asked = asked_by(wishes, event.pubsub)
    payload, content_type = _content(caller, event, wishes)
    return Ready(payload, content_type, wishes, asked, None if asked is None else _remembered(caller, event))


def arrived(caller: Caller, channel: Entry, ready: Ready, message_id: str) -> Arrived:
    message = message_of(caller, channel, ready, message_id)
    return Arrived(message, None if ready.asked is None else spread_over(ready.asked, channel), ready.dapr)


def message_of(caller: Caller, channel: Entry, ready: Ready, message_id: str) -> Incoming:
    """What an event becomes."""
    return Incoming(
        channel.row_id,
        caller.producer.row_id,
        message_id,
        ready.payload,
        ready.content_type,
        ready.wishes.priority,
        {},
        least_loaded(channel),
        ready.wishes.ttl_seconds,
    )


def asked_by(wishes: Wishes, pubsub: Pubsub) -> int | None:
    """None: it goes now, as what is past does."""
    if wishes.scheduled is None:
        return None
    if not pubsub.enable_delayed_messaging:
        raise DelayRefused(pubsub=pubsub.name)
    now = time.time_ns() // 1000
    asked = moment(wishes.scheduled, now)
    return asked if asked > now else None


def _content(caller: Caller, event: Event, wishes: Wishes) -> tuple[bytes, str]:
    content_type = event.content_type
    check_content_type(content_type)
    if wishes.raw:
        if not event.data:
            raise InvalidMetadata("A raw event needs a body.")
        return event.data, content_type or DEFAULT_CONTENT_TYPE
    place, at = place_of(caller, event), this_second()
    if kind_of(content_type) is Kind.CLOUD_EVENT:
        return cloudevents.completed(event.data, place, event.trace, wishes.attributes, at=at), content_type
    made = cloudevents.made(event.data, content_type, place, event.trace, wishes.attributes, at=at)
    return made, cloudevents.CONTENT_TYPE


def check_content_type(content_type: str) -> None:
    if len(content_type) > MAX_CONTENT_TYPE or (content_type and not _is_legal(content_type)):
        raise InvalidMetadata("A content type is 1 to 255 printable ASCII characters.")


# Asked of short ones only: what is remembered must be small.
@lru_cache(1_000)
def _is_legal(content_type: str) -> bool:
    return _CONTENT_TYPE.fullmatch(content_type) is not None


def _remembered(caller: Caller, event: Event) -> dict[str, Any]:
    """What operators see of it while it waits."""
    told = {
        "listing": listing_of(caller),
        "appId": caller.app_id,
        "namespace": caller.namespace,
        "pubsub": event.pubsub.name,
        "topic": event.topic,
        "contentType": event.content_type,
        "metadata": dict(event.metadata),
        "bulk": event.entry_id is not None,
    }
    return told if event.entry_id is None else {**told, "entryId": _checked_entry_id(event.entry_id)}


def _checked_entry_id(entry_id: str) -> str:
    """It is kept while the message waits: PostgreSQL keeps no NUL and no half of a surrogate pair."""
    if len(entry_id) > MAX_ENTRY_ID or not _TEXT.fullmatch(entry_id):
        raise InvalidMetadata(f"The entryId of a delayed event has at most {MAX_ENTRY_ID} characters, and no NUL.")
    return entry_id


def place_of(caller: Caller, event: Event) -> Place:
    return Place(caller.app_id, event.pubsub.name, event.topic)


def this_second() -> str:
    return _written(int(time.time()))


@lru_cache(4)
def _written(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
