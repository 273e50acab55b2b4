from datetime import UTC, datetime
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict

from channels_app.pull.lease import Leased
from channels_app.registry import Entry
from scheduling_app.grpc.events import event_of, read_members
from scheduling_app.grpc.places import Place

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLACE = Place("shop", "pubsub", "orders", Entry(1, ""), Entry(2, ""))
EVENT = "application/cloudevents+json; charset=utf-8"


def of(payload: bytes, content_type: str = EVENT, *, is_raw: bool = False) -> Any:
    job = Leased(7, 1, 0, NOW, "m-1", payload, content_type, {}, NOW)
    return event_of(job, PLACE, is_raw=is_raw)


def test_a_cloud_event_is_taken_apart() -> None:
    event = of(
        b'{"specversion":"1.0","id":"e","source":"s","type":"t","datacontenttype":"text/plain","data":"x",'
        b'"topic":"other","pubsubname":"other","time":"2026-01-01T00:00:00Z","n":2,"deep":{"a":[true,null]}}'
    )
    assert (event.id, event.source, event.type, event.spec_version) == ("e", "s", "t", "1.0")
    assert (event.data, event.data_content_type) == (b"x", "text/plain")
    assert (event.topic, event.pubsub_name) == ("orders", "pubsub")
    assert MessageToDict(event.extensions) == {"time": "2026-01-01T00:00:00Z", "n": 2, "deep": '{"a":[true,null]}'}


@pytest.mark.parametrize(
    ("member", "data"),
    [
        ('"data": {"n" :1.00, "big": 12345678901234567890}', b'{"n" :1.00, "big": 12345678901234567890}'),
        ('"data":"text"', b'"text"'),
        ('"data":"text","datacontenttype":"text/plain"', b"text"),
        ('"data":{"a":1},"datacontenttype":"text/plain"', b'{"a":1}'),
        ('"data_base64":"/wA="', b"\xff\x00"),
        ('"data":null', b"null"),
        ('"source":"s"', b""),
    ],
)  # fmt: skip
def test_data_is_what_was_published(member: str, data: bytes) -> None:
    assert of(b'{"id": "e", %s}' % member.encode()).data == data


def test_of_an_attribute_that_stands_twice_the_last_counts() -> None:
    assert of(b'{"id":null,"data":1,"id":"given"}').id == "given"


@pytest.mark.parametrize(
    "payload",
    [
        b"no JSON",
        b"[]",
        b"{",
        b'{"a" 1}',
        b'{"a": 1 "b": 2}',
        b'{1: 2}',
        b"\xff",
        b'{"id": "\\ud800"}',
        b'{"data_base64": "!"}',
        b'{"data_base64": 1}',
        b'{"x": ' + b"[" * 100_000 + b"}",
    ],
)  # fmt: skip
def test_what_only_claims_to_be_a_cloud_event_is_data(payload: bytes) -> None:
    event = of(payload)
    assert (event.id, event.data, event.data_content_type) == ("m-1", payload, EVENT)


def test_anything_else_is_data_with_its_type() -> None:
    event = of(b"\x00\xff", "image/png")
    assert (event.id, event.data, event.data_content_type) == ("m-1", b"\x00\xff", "image/png")
    assert (event.type, event.spec_version) == ("com.dapr.event.sent", "1.0")


def test_who_wants_it_raw_gets_the_envelope() -> None:
    payload = b'{"id": "e", "data": 1}'
    assert (of(payload, is_raw=True).data, of(payload, is_raw=True).id) == (payload, "m-1")


def test_a_number_of_any_length_is_read() -> None:
    assert read_members('{"n": %s}' % ("9" * 10_000))["n"].text == "9" * 10_000
    assert of(b'{"id": "e", "n": 12}').extensions["n"] == 12


def test_what_a_client_could_not_read_is_an_extension_as_its_text() -> None:
    """A reader of protobuf gives up at a hundred levels, of which each of JSON's is two or three."""
    deep = "[" * 60 + "]" * 60
    event = of(b'{"id": "e", "deep": %s, "huge": 1e999, "nan": NaN, "no": null, "yes": true}' % deep.encode())
    read = MessageToDict(type(event).FromString(event.SerializeToString()).extensions)
    assert read == {"deep": deep, "huge": "1e999", "nan": "NaN", "no": None, "yes": True}
