"""What a publisher sends and a subscriber is shown: a value goes through as it was sent."""

import json
from datetime import UTC, datetime

import pytest

from channels_app.api.pull.door import InvalidDocument
from channels_app.api.queue.envelope import message_in
from channels_app.api.queue.messages import item_shown
from channels_app.pull.index.poll import Item

VALUES = [
    "1.10",
    "1E400",
    "12345678901234567890.123456789",
    '"text"',
    "null",
    "[]",
    '{"a" : 1,\n "a": 2}',
    r'"\ud800"',
    r'"\u0000"',
    '"é€😀"',
    '{"value": {"value": 3}}',
    '"}, {"',
]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    "form",
    [
        '{"metadata": {"queue_name": "orders"}, "value": %s}',
        ' {"value":%s,"metadata":{"queue_name":"orders"}}\n',
        '{"VALUE" : %s , "Queue_Name" : "orders", "id": 7}',
        '{"metadata": {"queue_name": "orders"}, "queue_name": "orders", "value"\t:\t%s}',
    ],
)
def test_a_value_is_kept_as_it_was_sent(form: str, value: str) -> None:
    assert message_in(form % value) == ("orders", value.encode())


BAD = [
    "",
    "{",
    "[]",
    "5",
    "null",
    "{}",
    '{"value": 1}',
    '{"metadata": {"queue_name": "orders"}}',
    '{"metadata": {}, "value": 1}',
    '{"metadata": null, "value": 1}',
    '{"metadata": [], "value": 1}',
    '{"metadata": {"queue_name": 5}, "value": 1}',
    '{"metadata": {"queue_name": null}, "queue_name": "orders", "value": 1}',
    '{"metadata": {"queue_name": "a/b"}, "value": 1}',
    '{"metadata": {"queue_name": "orders", "more": 1}, "value": 1}',
    '{"metadata": {"queue_name": "orders"}, "queue_name": "others", "value": 1}',
    '{"metadata": {"queue_name": "orders"}, "value": NaN}',
    '{"metadata": {"queue_name": "orders"}, "value": 1, "more": 1}',
    '{"metadata": {"queue_name": "orders"}, "value": 1, "Value": 2}',
    '{"metadata": {"queue_name": "orders"}, "value": 1} 2',
    '{"metadata": {"queue_name": "orders"}, "value": ' + "[" * 100_000 + "]" * 100_000 + "}",
    '{"metadata": {"queue_name": "orders"}, "value": ' + "9" * 5_000 + "}",
]


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_message_is_refused(text: str) -> None:
    with pytest.raises(InvalidDocument):
        message_in(text)


SHOWN = [
    (b'{"a": 1.10}', "application/json", b'"value":{"a": 1.10}'),
    (b"[1]", "application/json; charset=utf-8", b'"value":[1]'),
    (b"[1]", "text/plain", b'"value":"[1]"'),
    (b"{", "application/json", b'"value":"{"'),
    (b"NaN", "application/json", b'"value":"NaN"'),
    (b"[" * 100_000, "application/json", b'"value":"[[['),
    (b"\xff", "application/json", b'"value_base64":"/w=="'),
    (b"", "application/json", b'"value":""'),
]


@pytest.mark.parametrize(("payload", "content_type", "expected"), SHOWN)
def test_a_message_of_any_door_is_shown_as_json(payload: bytes, content_type: str, expected: bytes) -> None:
    item = Item(7, 1, 1, 0, "m", payload, content_type, {}, datetime.now(UTC))

    shown = item_shown(item, "orders")

    assert shown.startswith(b'{"id":7,"metadata":{"queue_name":"orders"},' + expected)
    assert json.loads(shown)["id"] == 7
