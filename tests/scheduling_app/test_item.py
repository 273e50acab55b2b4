"""An item of a batch becomes a message, or a refusal that names its field."""

from itertools import count
from typing import Any

import pytest

from channels_app.delivery.accept import Incoming
from channels_app.registry import Entry
from scheduling_app.api.item import ItemRefused, read_item


def read(item: Any) -> Incoming:
    return read_item(item, Entry(7, ""), Entry(8, ""), map(str, count()))[0]


def test_an_item_needs_only_a_payload() -> None:
    assert read({"payload": "x"}) == Incoming(7, 8, "0", b"x", "application/octet-stream", 0, {})


def test_an_item_may_say_everything() -> None:
    item = {
        "payload": "x",
        "messageId": "m-1",
        "contentType": "text/plain",
        "priority": -5,
        "headers": {"X-Trace": "a, b"},
        "scheduledFor": None,
    }

    assert read(item) == Incoming(7, 8, "m-1", b"x", "text/plain", -5, {"X-Trace": "a, b"})


@pytest.mark.parametrize(
    ("fields", "payload", "content_type"),
    [
        ({"payload": "ü\0"}, b"\xc3\xbc\0", "application/octet-stream"),
        ({"payloadBase64": "AP8="}, b"\0\xff", "application/octet-stream"),
        ({"base64": "AP8="}, b"\0\xff", "application/octet-stream"),
        ({"payload": {"b": 1, "a": ["ü", 1.5]}}, '{"b":1,"a":["ü",1.5]}'.encode(), "application/json"),
        ({"payload": []}, b"[]", "application/json"),
        ({"payload": False}, b"false", "application/json"),
        ({"payload": 12345678901234567890}, b"12345678901234567890", "application/json"),
        ({"payload": {}, "contentType": "application/vnd.x+json"}, b"{}", "application/vnd.x+json"),
        ({"payload": "x", "payloadBase64": None}, b"x", "application/octet-stream"),
    ],
)
def test_a_payload_is_text_base64_or_json(fields: dict[str, Any], payload: bytes, content_type: str) -> None:
    message = read(fields)

    assert (message.payload, message.content_type) == (payload, content_type)


def test_names_are_known_in_any_case() -> None:
    message = read({"PAYLOAD": "x", "MessageID": "m", "ContentType": "a/b", "PRIORITY": 1})

    assert (message.message_id, message.content_type, message.priority) == ("m", "a/b", 1)


Case = tuple[Any, str, str]


def each(field: str, code: str, values: list[Any]) -> list[Case]:
    """The field with each of these values, in an item that is otherwise well."""
    return [({"payload": "x", field: value}, field, code) for value in values]


NOT_OBJECTS: list[Any] = [1, "x", None, [], True]
NOT_BASE64: list[Any] = ["x", "eA", "e A==", "eA==x", "ü", 1, {}]
NOT_HEADERS: list[Any] = [
    *([], "x", {"X": 1}, {"X": None}, {"": "x"}, {"X Y": "x"}, {"X": "a\r\nb"}, {"X": "\0"}, {"X": "\x7f"}),
    *({"X": "\ud800"}, {"X": "a" * 17_000}),
]
RESERVED = ["Host", "content-length", "X-Broker-Job-ID", "X_Broker_Job_ID", "webhook-id", "Cookie"]
REFUSED: list[Case] = [
    *[(item, "", "invalid_item") for item in NOT_OBJECTS],
    ({}, "payload", "invalid_payload"),
    ({"payload": None}, "payload", "invalid_payload"),
    ({"payload": "x", "payloadBase64": "eA=="}, "payload", "invalid_payload"),
    ({"payload": "x", "Payload": "y"}, "payload", "repeated_field"),
    ({"payloadBase64": "eA==", "base64": "eA=="}, "payloadBase64", "repeated_field"),
    ({"payload": ""}, "payload", "empty_payload"),
    ({"base64": ""}, "payload", "empty_payload"),
    ({"payload": "\ud800"}, "payload", "invalid_payload"),
    ({"payload": ["\ud800"]}, "payload", "invalid_payload"),
    ({"payload": [float("inf")]}, "payload", "invalid_payload"),
    *[({"base64": text}, "payloadBase64", "invalid_payload") for text in NOT_BASE64],
    *each("messageId", "invalid_message_id", ["", "a b", "ü", 1, [], "a" * 256]),
    *each("priority", "invalid_priority", ["1", 1.0, True, 2**31, -(2**31) - 1, {}]),
    *each("contentType", "invalid_content_type", ["", " ", "a\nb", "ü", "a" * 256, 1]),
    *each("headers", "invalid_header", NOT_HEADERS),
    *each("headers", "reserved_header", [{name: "x"} for name in RESERVED]),
    *each("scheduledFor", "invalid_scheduled_for", ["2030-01-01T00:00:00", "", 0, [], {}]),
    *each("scheduledFor", "scheduled_too_soon", ["2020-01-01T00:00:00Z"]),
    *each("colour", "unknown_field", [1, None]),
    *each("\u212aey", "unknown_field", [None]),
]


@pytest.mark.parametrize(("item", "field", "code"), REFUSED)
def test_what_is_not_right_is_refused_by_its_name(item: Any, field: str, code: str) -> None:
    with pytest.raises(ItemRefused) as refused:
        read(item)

    assert (refused.value.field, refused.value.error.code) == (field, code)


def test_a_payload_has_a_size(settings: Any) -> None:
    settings.MAX_PAYLOAD_BYTES = 3

    assert read({"payload": "abc"}).payload == b"abc"
    with pytest.raises(ItemRefused) as refused:
        read({"payload": "abü"})
    assert refused.value.error.code == "payload_too_large"


def test_a_header_is_kept_as_the_bytes_of_its_utf_8() -> None:
    assert read({"payload": "x", "headers": {"X-Name": "é"}}).headers["X-Name"].encode("latin1") == "é".encode()
