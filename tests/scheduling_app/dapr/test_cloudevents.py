"""CloudEvents: what is made, what is completed, and that nothing of the producer's is written anew."""

import base64
import json
from uuid import UUID

import pytest

from scheduling_app.dapr.cloudevents import Envelope, JsonText, Place, Trace, completed, made, new_event_ids
from scheduling_app.dapr.errors import CloudEventUnreadable

PLACE = Place("checkout", "pubsub", "orders/new")
AT = "2026-11-16T12:00:00Z"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def event_of(data: bytes, content_type: str, **attributes: str) -> bytes:
    return made(data, content_type, PLACE, Trace(PARENT), attributes, at=AT)


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1}',
        b' { "a" :\t1.00 } \n',
        b"1e400",
        b"9" * 5_000,
        b"null",
        b'"\\ud800"',
        '"grüße"'.encode(),
        b'{"twice": 1, "twice": 2}',
    ],
)
@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", "application/vnd.shop+json"])
def test_json_stands_in_the_envelope_as_it_came(data: bytes, kind: str) -> None:
    event = event_of(data, kind)
    assert event.endswith(b'"data":' + data + b"}")
    assert json.loads(event[: -len(data) - 1] + b"0}")["datacontenttype"] == kind


@pytest.mark.parametrize("data", [b"not json", b"", b"NaN", b"[" * 50_000, b"{'a': 1}", b'{"a": 1} {"b": 2}'])
def test_what_only_says_that_it_is_json_is_a_text(data: bytes) -> None:
    assert json.loads(event_of(data, "application/json"))["data"] == data.decode()


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", ""])
@pytest.mark.parametrize("text", ["hello", "", 'a "quote"', "grüße\x00\n\u2028"])
def test_a_text_comes_back_from_the_envelope_byte_for_byte(kind: str, text: str) -> None:
    event = json.loads(event_of(text.encode(), kind))
    assert event["data"] == text
    assert event["datacontenttype"] == (kind or "text/plain")


@pytest.mark.parametrize("kind", ["application/octet-stream", "text/plain", "application/json"])
def test_bytes_that_are_no_text_are_base64_whatever_they_are_called(kind: str) -> None:
    event = json.loads(event_of(b"\xff\x00\xfe", kind))
    assert base64.b64decode(event["data_base64"]) == b"\xff\x00\xfe"
    assert "data" not in event


def test_an_event_has_daprs_attributes() -> None:
    event = json.loads(event_of(b"1", "application/json"))
    one = event.pop("id")
    assert len(one) == 36
    assert event == {
        "specversion": "1.0",
        "source": "checkout",
        "type": "com.dapr.event.sent",
        "datacontenttype": "application/json",
        "topic": "orders/new",
        "pubsubname": "pubsub",
        "time": AT,
        "traceid": PARENT,
        "traceparent": PARENT,
        "data": 1,
    }


def test_metadata_sets_attributes_of_a_made_event_once() -> None:
    event = event_of(b"1", "application/json", source="till", id="7", subject="x")
    read = json.loads(event, object_pairs_hook=list)
    names = [name for name, _ in read]
    assert len(names) == len(set(names))
    assert {("source", "till"), ("id", "7"), ("subject", "x")} <= set(read)


@pytest.mark.parametrize("parent", ["", "no trace", PARENT.upper(), PARENT.replace("00-", "ff-", 1)])
def test_a_trace_that_cannot_be_read_begins_anew(parent: str) -> None:
    event = json.loads(made(b"1", "application/json", PLACE, Trace(parent, "a=b").continued(), {}, at=AT))
    assert event["traceparent"] == event["traceid"] != parent
    assert "tracestate" not in event


def test_the_state_of_a_trace_goes_along() -> None:
    event = json.loads(made(b"1", "application/json", PLACE, Trace(PARENT, "a=b"), {}, at=AT))
    assert event["tracestate"] == "a=b"


OWN = b'{ "id" : "own",\n\t"source":"me", "data": {"price": 1.00, "e": 1E2 } , "extra": "}" } \n'


def test_an_own_event_keeps_every_byte_and_gets_what_it_lacks_behind_them() -> None:
    event = completed(OWN, PLACE, Trace(PARENT), {"subject": "x"}, at=AT)
    head, tail = OWN[: OWN.rindex(b"}")], OWN[OWN.rindex(b"}") :]
    assert event.startswith(head)
    assert event.endswith(tail)
    read = json.loads(event)
    assert (read["id"], read["source"]) == ("own", "me")
    assert (read["specversion"], read["type"], read["time"]) == ("1.0", "com.dapr.event.sent", AT)
    assert (read["topic"], read["pubsubname"], read["subject"]) == ("orders/new", "pubsub", "x")
    assert read["traceparent"] == PARENT


def test_an_event_that_lacks_nothing_is_not_touched() -> None:
    whole = completed(OWN, PLACE, Trace(PARENT), {}, at=AT)
    assert completed(whole, Place("another", "other", "t"), Trace(), {"type": "x"}, at="later") == whole


def test_an_empty_event_is_filled_in() -> None:
    read = json.loads(completed(b" {  } ", PLACE, Trace(), {}, at=AT))
    assert read["source"] == "checkout"


def test_an_attribute_that_is_null_is_not_given() -> None:
    assert json.loads(completed(b'{"source": null}', PLACE, Trace(), {}, at=AT))["source"] == "checkout"


@pytest.mark.parametrize("body", [b"", b"[]", b"7", b"{", b'{"a": Infinity}', b"\xff", b'{"a":' * 50_000])
def test_what_is_no_event_is_refused(body: bytes) -> None:
    with pytest.raises(CloudEventUnreadable):
        completed(body, PLACE, Trace(), {}, at=AT)


def test_events_of_one_request_are_those_of_many_with_ids_of_their_own() -> None:
    envelope = Envelope.of(PLACE, "application/json", Trace(PARENT), AT)
    several = [json.loads(envelope.around_json(name, JsonText(b"[1.0]"))) for name in new_event_ids(3)]
    alone = json.loads(event_of(b"[1.0]", "application/json"))
    ids = [event.pop("id") for event in (alone, *several)]
    assert several == [alone] * 3
    assert len(set(ids)) == 4
    assert [UUID(name).version for name in ids] == [4] * 4
