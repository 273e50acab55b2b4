"""An item of a batch becomes a message, or a refusal that names its field."""

from itertools import count
from typing import Any

import pytest

from channels_app.delivery.accept import Incoming
from scheduling_app.api.item import ItemRefused, read_item


def read(item: Any) -> Incoming:
    return read_item(item, 7, 8, map(str, count()))


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


@pytest.mark.parametrize(
    ("item", "field", "code"),
    [
        *((item, "", "invalid_item") for item in (1, "x", None, [], True)),
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
        *(({"base64": text}, "payloadBase64", "invalid_payload") for text in ("x", "eA", "e A==", "eA==x", "ü", 1, {})),
        *(({"payload": "x", "messageId": text}, "messageId", "invalid_message_id") for text in ("", "a b", "ü", 1, [])),
        ({"payload": "x", "messageId": "a" * 256}, "messageId", "invalid_message_id"),
        *(
            ({"payload": "x", "priority": number}, "priority", "invalid_priority")
            for number in ("1", 1.0, True, 2**31, -(2**31) - 1, {})
        ),
        *(
            ({"payload": "x", "contentType": text}, "contentType", "invalid_content_type")
            for text in ("", " ", "a\nb", "ü", "a" * 256, 1)
        ),
        *(
            ({"payload": "x", "headers": headers}, "headers", "invalid_header")
            for headers in ([], "x", {"X": 1}, {"X": None}, {"": "x"}, {"X Y": "x"}, {"X": "a\r\nb"}, {"X": "\0"})
        ),
        *(({"payload": "x", "headers": {"X": value}}, "headers", "invalid_header") for value in ("\x7f", "\ud800")),
        ({"payload": "x", "headers": {"X": "a" * 17_000}}, "headers", "invalid_header"),
        *(
            ({"payload": "x", "headers": {name: "x"}}, "headers", "reserved_header")
            for name in ("Host", "content-length", "X-Broker-Job-ID", "X_Broker_Job_ID", "webhook-id", "Cookie")
        ),
        ({"payload": "x", "scheduledFor": "2030-01-01T00:00:00Z"}, "scheduledFor", "not_supported_yet"),
        ({"payload": "x", "scheduledFor": 0}, "scheduledFor", "not_supported_yet"),
        ({"payload": "x", "colour": 1}, "colour", "unknown_field"),
        ({"payload": "x", "\u212aey": None}, "\u212aey", "unknown_field"),
    ],
)
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
