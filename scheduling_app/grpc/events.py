"""A message as an event of Dapr's. A CloudEvent is taken apart; anything else is data with an event around it."""

import base64
import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from dapr.proto.runtime.v1.appcallback_pb2 import TopicEventRequest

from channels_app.pull.lease import Leased
from scheduling_app.dapr.cloudevents import DEFAULT_TYPE, Kind, kind_of
from scheduling_app.grpc.places import Place

_KNOWN = {"id", "source", "type", "specversion", "datacontenttype", "data", "data_base64", "topic", "pubsubname"}
_BLANK = " \t\r\n"
# A number of any length is read: as one of Dapr's extensions it is a double anyway.
_decode = json.JSONDecoder(parse_int=float).raw_decode


class Member(NamedTuple):
    """A value of a JSON object, and the very text that it was written as."""

    value: Any
    text: str


def event_of(job: Leased, place: Place, *, is_raw: bool) -> TopicEventRequest:
    """`is_raw`: what was stored is the data, also where it is a CloudEvent."""
    if not is_raw and kind_of(job.content_type) is Kind.CLOUD_EVENT:
        try:
            return _of_cloud_event(job, place)
        except (ValueError, TypeError, RecursionError):
            # It came by another door, which does not look into what it takes.
            pass
    return TopicEventRequest(
        id=job.message_id,
        source=place.app_id,
        type=DEFAULT_TYPE,
        spec_version="1.0",
        data_content_type=job.content_type,
        data=bytes(job.payload),
        topic=place.topic,
        pubsub_name=place.pubsub,
    )


def _of_cloud_event(job: Leased, place: Place) -> TopicEventRequest:
    members = read_members(bytes(job.payload).decode())
    event = TopicEventRequest(
        id=_text(members, "id") or job.message_id,
        source=_text(members, "source"),
        type=_text(members, "type"),
        spec_version=_text(members, "specversion"),
        data_content_type=_text(members, "datacontenttype"),
        data=_data(members),
        topic=place.topic,
        pubsub_name=place.pubsub,
    )
    event.extensions.update({name: _extension(one) for name, one in members.items() if name not in _KNOWN})
    return event


def _extension(member: Member) -> str | float | bool | None:
    """CloudEvents knows no others. What is nested, or no number of JSON's, goes as its text: clients break at it."""
    value = member.value
    if isinstance(value, dict | list) or (isinstance(value, float) and not math.isfinite(value)):
        return member.text
    return value


def _text(members: Mapping[str, Member], name: str) -> str:
    member = members.get(name)
    return "" if member is None or member.value is None else str(member.value)


def _data(members: Mapping[str, Member]) -> bytes:
    """As it was published: JSON is the text that stands in the event, not one that means the same."""
    if (encoded := members.get("data_base64")) is not None:
        return base64.b64decode(encoded.value, validate=True)
    data = members.get("data")
    if data is None:
        return b""
    kind = kind_of(_text(members, "datacontenttype") or "application/json")
    is_text = isinstance(data.value, str) and kind not in (Kind.JSON, Kind.CLOUD_EVENT)
    return (data.value if is_text else data.text).encode()


def read_members(text: str) -> dict[str, Member]:
    """The members of a JSON object; of two with one name the last counts. Raises ValueError if it is none."""
    members: dict[str, Member] = {}
    at = _expect(text, 0, "{")
    if text[at : at + 1] == "}":
        return members
    while True:
        name, at = _decode(text, at)
        if not isinstance(name, str):
            raise ValueError("a name is a text")
        start = _expect(text, at, ":")
        value, at = _decode(text, start)
        members[name] = Member(value, text[start:at])
        at = _skip(text, at)
        if text[at : at + 1] == "}":
            return members
        at = _expect(text, at, ",")


def _expect(text: str, at: int, sign: str) -> int:
    """The place of what comes after the sign."""
    at = _skip(text, at)
    if text[at : at + 1] != sign:
        raise ValueError(f"{sign} is missing")
    return _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in _BLANK:
        at += 1
    return at
