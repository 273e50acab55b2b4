"""CloudEvents 1.0, as Dapr makes and completes them. Pure.

What the producer sent comes out as it came in: data is set into the envelope as the very text or bytes that arrived,
and what a producer's own event lacks is written behind its last attribute, before the brace that ends it.
"""

import base64
import json
import re
import struct
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from functools import lru_cache
from typing import Any, NamedTuple, Self

from broker_project.lib.ids import new_digits, new_id
from scheduling_app.dapr.errors import CloudEventUnreadable

CONTENT_TYPE = "application/cloudevents+json"
DEFAULT_TYPE = "com.dapr.event.sent"
DEFAULT_DATA_TYPE = "text/plain"
_PARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_JSON_TYPE = re.compile(r"application/(?:[a-z0-9.!#$&^_+-]*\+)?json|text/json")
# What differs from one request to the next, of characters that JSON writes as they are.
_PASSING = '","time":"%s","traceid":"%s","traceparent":"%s"'
# A UUID of version 4, and its parts in 32 digits.
_UUID, _UUID_PARTS = b"%b-%b-4%b-a%b-%b", struct.Struct("8s4sx3sx3s12s")
_DATA = b',"data":'


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# Numbers as their texts: only whether it is JSON counts, and no number is too long to be asked that.
_decoder = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=str, parse_float=str)
_parse, _scan = _decoder.decode, _decoder.raw_decode
_BLANKS = " \t\n\r"


class Kind(Enum):
    """What a content type says of data."""

    CLOUD_EVENT = auto()
    JSON = auto()
    BINARY = auto()
    TEXT = auto()


class JsonText(bytes):
    """What was read as JSON already: it need not be asked again."""


@lru_cache(1_000)
def kind_of(content_type: str) -> Kind:
    kind = content_type.partition(";")[0].strip().lower()
    if kind == CONTENT_TYPE:
        return Kind.CLOUD_EVENT
    if kind == "application/octet-stream":
        return Kind.BINARY
    return Kind.JSON if _JSON_TYPE.fullmatch(kind) else Kind.TEXT


class Trace(NamedTuple):
    """The W3C trace context that an event carries on."""

    parent: str = ""
    state: str = ""

    def continued(self) -> "Trace":
        """Of what came with a request: one that cannot be read begins anew."""
        if _PARENT.fullmatch(self.parent):
            return self
        return Trace(f"00-{new_id()}-{new_id()[:16]}-00")


class Place(NamedTuple):
    """Where an event is published, and by whom."""

    app_id: str
    pubsub: str
    topic: str


class Envelope(NamedTuple):
    """What is around events that differ in their ids and data alone: before the id, and behind it."""

    head: bytes
    tail: bytes

    @classmethod
    def of(cls, place: Place, content_type: str, trace: Trace, at: str) -> Self:
        passing = _PASSING % (at, trace.parent, trace.parent)
        return cls(b'{%s,"id":"' % _fixed(place, content_type), passing.encode())

    def around(self, member: bytes) -> bytes:
        """A whole event; `member` is its data as a member behind others."""
        return b"".join((self.head, _new_event_id(), self.tail, member, b"}"))

    def around_json(self, event_id: bytes, data: JsonText) -> bytes:
        return b"".join((self.head, event_id, self.tail, _DATA, data, b"}"))


def made(
    data: bytes, content_type: str, place: Place, trace: Trace, attributes: Mapping[str, str], *, at: str
) -> bytes:
    """An event around plain data."""
    content_type = content_type or DEFAULT_DATA_TYPE
    member = _data_member(data, content_type)
    if not attributes and not trace.state:
        return Envelope.of(place, content_type, trace, at).around(member)
    # An attribute that the metadata names stands once, as it says.
    own = {**_fixed_attributes(place, content_type), **_defaults(place, at), **_traced(trace), **attributes}
    return b"{%s%s}" % (_members(own), member)


def completed(event: bytes, place: Place, trace: Trace, attributes: Mapping[str, str], *, at: str) -> bytes:
    """A producer's own event: what it has stays as it is, what it lacks is added."""
    present = _read(event)
    lacking = _defaults(place, at) | _traced(trace) | dict(attributes)
    lacking = {name: value for name, value in lacking.items() if present.get(name) is None}
    # One that is there as null is not given, by the specification; added again, the last one counts.
    if not lacking:
        return event
    end = event.rindex(b"}")
    added = _members(lacking)
    return event[:end] + (b"," if present else b"") + added + event[end:]


def _read(event: bytes) -> dict[str, Any]:
    try:
        value = _parse(event.decode())
    except (ValueError, RecursionError) as error:
        raise CloudEventUnreadable("The body is not a CloudEvent: it is not JSON, or nested too deep.") from error
    if not isinstance(value, dict):
        raise CloudEventUnreadable("The body is not a CloudEvent: it is not an object.")
    return value


def _defaults(place: Place, at: str) -> dict[str, str]:
    return {
        "specversion": "1.0",
        "id": _new_event_id().decode(),
        "source": place.app_id,
        "type": DEFAULT_TYPE,
        "time": at,
        "topic": place.topic,
        "pubsubname": place.pubsub,
    }


def _traced(trace: Trace) -> dict[str, str]:
    told = {"traceid": trace.parent, "traceparent": trace.parent}
    return {**told, "tracestate": trace.state} if trace.state else told


@lru_cache(1_000)
def _fixed(place: Place, content_type: str) -> bytes:
    """What is the same for all events of a topic, ready to be written."""
    return _members(_fixed_attributes(place, content_type))


def _fixed_attributes(place: Place, content_type: str) -> dict[str, str]:
    return {
        "specversion": "1.0",
        "source": place.app_id,
        "type": DEFAULT_TYPE,
        "datacontenttype": content_type,
        "topic": place.topic,
        "pubsubname": place.pubsub,
    }


def _new_event_id() -> bytes:
    return _UUID % _UUID_PARTS.unpack(new_id().encode())


def new_event_ids(number: int) -> Iterator[bytes]:
    """For many events: chance is fetched when the first is asked for."""
    for parts in _UUID_PARTS.iter_unpack(new_digits(number).encode()):
        yield _UUID % parts


def _members(values: Mapping[str, str]) -> bytes:
    return json.dumps(values, separators=(",", ":"))[1:-1].encode()


def _data_member(data: bytes, content_type: str) -> bytes:
    kind = kind_of(content_type)
    if kind is Kind.JSON and isinstance(data, JsonText):
        return _DATA + data
    if kind is Kind.BINARY:
        return _base64(data)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        # Not what its content type says: nothing of it may be lost.
        return _base64(data)
    if kind is Kind.JSON and _is_json_text(text):
        return _DATA + data
    return _DATA + json.dumps(text, ensure_ascii=False).encode()


def _is_json_text(text: str) -> bool:
    text = text.strip(_BLANKS)
    try:
        return _scan(text, 0)[1] == len(text)
    except (ValueError, RecursionError):
        return False


def _base64(data: bytes) -> bytes:
    return b',"data_base64":"' + base64.b64encode(data) + b'"'
