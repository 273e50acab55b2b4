"""The body of a bulk request: what is too much of it is refused before it is read."""

import asyncio
import json
from typing import Any

import pytest

from scheduling_app.api.dapr import entries
from scheduling_app.api.dapr.entries import MOST_BRACKETS, MOST_MEMBERS, read_entries
from scheduling_app.dapr.bulk import BulkEntry
from scheduling_app.dapr.errors import EventsUnreadable, PayloadTooLarge, TooManyEvents


def read(body: str) -> list[BulkEntry]:
    return asyncio.run(read_entries(body.encode()))


def entry(entry_id: str, event: Any) -> str:
    return json.dumps({"entryId": entry_id, "event": event, "contentType": "application/json"})


def test_reading_stops_at_the_first_entry_too_many(settings: Any) -> None:
    settings.MAX_BATCH_MESSAGES = 2
    two = f"[{entry('1', 1)}, {entry('2', 2)}"
    assert len(read(two + "]")) == 2
    # What follows the third is no JSON at all: nobody has looked at it.
    with pytest.raises(TooManyEvents):
        read(f"{two}, {entry('3', 3)}, what")


@pytest.mark.parametrize("event", [[[]] * 1000, {"a": [']}\\"', {}], "b": "x" * 1000}])
def test_an_event_that_is_too_large_is_not_read_and_the_others_are(settings: Any, event: Any) -> None:
    settings.MAX_PAYLOAD_BYTES = 1000
    first, second, third = read(f"[{entry('1', [1])}, {entry('2', event)}, {entry('3', ['x' * 900])}]")
    assert isinstance(second.event, PayloadTooLarge)
    assert (first.event, third.event) == (b"[1]", json.dumps(["x" * 900]).encode())


@pytest.mark.parametrize("event", ["[" * (MOST_BRACKETS + 1), '["' + "x" * 2000, "[}" * 1000])
def test_an_event_without_an_end_refuses_the_request(settings: Any, event: str) -> None:
    settings.MAX_PAYLOAD_BYTES = 1000
    with pytest.raises(EventsUnreadable):
        read(f'[{{"entryId": "1", "event": {event}')


def test_an_entry_has_not_many_names() -> None:
    names = ", ".join(f'"n{number}": 1' for number in range(MOST_MEMBERS))
    with pytest.raises(EventsUnreadable):
        read(f'[{{"entryId": "1", {names}}}]')


TYPES = ["application/json", "application/cloudevents+json", "text/plain", "application/octet-stream", "", "x" * 300]
EVENTS = ["1", "null", '"text"', '"YQ=="', '{"a" : [1.10, {"b": "}"}]}', '[ "\\ud83d\\ude00", "é" ]']


@pytest.mark.parametrize("content_type", TYPES)
@pytest.mark.parametrize("event", EVENTS)
def test_an_entry_says_the_same_in_whichever_order_it_is_written(event: str, content_type: str) -> None:
    """The order of Dapr's documents is read by a quicker way."""
    members = ['"entryId": "é 1"', f'"event": {event}', f'"contentType": "{content_type}"']
    [quick] = read(f"[ {{ {' , '.join(members)} }} ]")
    [slow] = read(f"[{{{','.join(reversed(members))}}}]")
    assert (quick.entry_id, quick.content_type, quick.metadata) == (slow.entry_id, slow.content_type, slow.metadata)
    assert quick.event == slow.event or type(quick.event) is type(slow.event) is not bytes


@pytest.mark.parametrize("most", [1024 * 1024, 40])
def test_entries_of_all_kinds_in_a_row_are_read_in_their_order(settings: Any, most: int) -> None:
    """Also of a body that is larger than one event may be."""
    settings.MAX_PAYLOAD_BYTES = most
    events = ["[1.10]", '{"a": "}, {" }', '"x"', "[ ]", '"an event"', "7", "null"]
    written = [f'{{"entryId": "{place}", "event": {event}%s}}' for place, event in enumerate(events)]
    plain, bare = ', "contentType": "application/json"', ', "metadata": {}, "contentType": "text/json"'
    body = ",\n".join(one % (bare if place in (1, 2, 6) else plain) for place, one in enumerate(written))
    found = read(f"[{body}]")
    assert [(one.entry_id, one.event) for one in found] == [(str(at), one.encode()) for at, one in enumerate(events)]


@pytest.mark.parametrize("most", [1024 * 1024, 40])
@pytest.mark.parametrize("before", ["", entry("1", [1]) + ", "], ids=["single", "last"])
@pytest.mark.parametrize(
    "tail",
    [
        '"contentType": "application/json"',
        '"contentType": "application/json", "metadata": {"a": "b"}',
        '"contentType": "text/plain"',
        '"metadata": {}',
    ],
)
def test_nothing_is_read_twice(
    settings: Any, monkeypatch: pytest.MonkeyPatch, most: int, before: str, tail: str
) -> None:
    settings.MAX_PAYLOAD_BYTES = most
    scan = entries._scan
    places: list[int] = []

    def noted(text: str, at: int) -> tuple[Any, int]:
        places.append(at)
        return scan(text, at)

    monkeypatch.setattr(entries, "_scan", noted)
    found = read(f'[{before}{{"entryId": "2", "event": "a text", {tail}}} ]')
    assert found[-1].entry_id == "2"
    assert len(places) == len(set(places))


@pytest.mark.parametrize("end", ["", ",]", "] 1", "]]", "}", ', {"entryId": "2"]'])
@pytest.mark.parametrize("count", [1, 2])
def test_an_array_that_does_not_end_as_it_should_refuses_the_request(count: int, end: str) -> None:
    body = ", ".join(entry(str(number), number) for number in range(count))
    assert len(read(f"[{body}\n] ")) == count
    with pytest.raises(EventsUnreadable):
        read(f"[{body}{end}")


@pytest.mark.parametrize(
    "second",
    [
        '"entryId": "2", "event": 1, "event": 2, "contentType": "application/json"',
        '"entryId": "2", "event": 1 2, "contentType": "application/json"',
        '"entryId": "2", "event": , "contentType": "application/json"',
        '"entryId": "2", "event": 01, "contentType": "application/json"',
        '"entryId": "2", "event": Infinity, "contentType": "application/json"',
        '"entryId": "", "event": 1, "contentType": "application/json"',
        '"entryId": "2", "event": 1, "contentType": "application/json" "entryId": "3"',
    ],
)
def test_an_entry_that_cannot_be_read_between_others_refuses_the_request(second: str) -> None:
    with pytest.raises(EventsUnreadable):
        read(f"[{entry('1', 1)}, {{{second}}}, {entry('3', 3)}]")
