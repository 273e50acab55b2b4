"""The body of a bulk request, entry by entry. An event that is JSON is taken as the very text that came."""

import asyncio
import binascii
import json
import re
import time
from collections.abc import Generator, Iterator, Mapping
from typing import Any

from django.conf import settings

from broker_project.lib.errors import BrokerError
from scheduling_app.dapr.bulk import BulkEntry
from scheduling_app.dapr.cloudevents import JsonText, Kind, kind_of
from scheduling_app.dapr.errors import EventsUnreadable, InvalidMetadata, PayloadTooLarge, TooManyEvents
from scheduling_app.door.bounds import MAX_CONTENT_TYPE, SLICE_SECONDS

_BLANKS = re.compile(r"[ \t\n\r]*")
_JSON_TYPE, _TEXT_TYPE = "application/json", "text/plain"
_AS_JSON = (Kind.CLOUD_EVENT, Kind.JSON)
# Of an object, by their names: each value and the text of it.
Members = dict[str, tuple[Any, str]]


class InvalidEvent(BrokerError):
    """The event is not what its contentType says."""


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# Numbers as their texts: an event's are not looked at, and none is too long to be read past.
_scan = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=str, parse_float=str).raw_decode
# A member's name with what stands around it, and what comes after its value.
_NAME = re.compile(r'[ \t\n\r]*"((?:[^"\\\x00-\x1f]|\\.)*+)"[ \t\n\r]*:[ \t\n\r]*')
_NEXT = re.compile(r"[ \t\n\r]*([,}])")
# The next bracket that stands in no text, and what is before it.
_BRACKET = re.compile(r'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")*+([\[\]{}])', re.DOTALL)
_B = r"[ \t\n\r]*+"
_COMMA = re.compile(rf"{_B},{_B}")
# Entries as Dapr's documents write them, without metadata: up to an event, and from its end to the event of the next.
_HEAD = rf'\{{{_B}"entryId"{_B}:{_B}"(?P<id>[^"\\\x00-\x1f]++)"{_B},{_B}"event"{_B}:{_B}'
_TAIL = rf'{_B},{_B}"contentType"{_B}:{_B}"(?P<type>[^"\\\x00-\x1f]{{1,{MAX_CONTENT_TYPE}}}+)"{_B}\}}'
_BEGIN, _BETWEEN = re.compile(_HEAD), re.compile(rf"{_TAIL}{_B},{_B}{_HEAD}")
MOST_MEMBERS = 100
# Of an event in a large body, which is looked through before it is read.
MOST_BRACKETS = 100_000
# Stands for a value that was not read.
_TOO_LARGE = object()
_NO_METADATA: Mapping[str, str] = {}


async def read_entries(body: bytes) -> list[BulkEntry]:
    """All entries of an array, while there are no more than a request may have; others have their turn meanwhile."""
    entries: list[BulkEntry] = []
    most, began = settings.MAX_BATCH_MESSAGES, time.perf_counter()
    try:
        for entry in _entries(body.decode()):
            if len(entries) == most:
                raise TooManyEvents(f"A bulk request has at most {most} entries.")
            entries.append(entry)
            if time.perf_counter() - began > SLICE_SECONDS:
                await asyncio.sleep(0)
                began = time.perf_counter()
    except (ValueError, RecursionError):
        raise EventsUnreadable("The body is not JSON in UTF-8, or is nested too deep.") from None
    return entries


def _entries(text: str) -> Iterator[BulkEntry]:
    at = _open(text, _after_blanks(text, 0), "[", "The body is not a JSON array.")
    if text[at : at + 1] == "]":
        return _check_end(text, at)
    while True:
        read, at = yield from _plain(text, at)
        members, at = _rest_of(text, at, read) if read else members_of(text, at)
        yield _entry(members)
        comma = _COMMA.match(text, at)
        if comma is None:
            return _check_end(text, _after_blanks(text, at))
        at = comma.end()


def _plain(text: str, at: int) -> Generator[BulkEntry, None, tuple[Members, int]]:
    """Most entries are, and read in a third of the time. Returns what it has read of one that is not, or is the last,
    and up to where: an event may be long, and is not read twice.
    """
    begun, most = _BEGIN.match(text, at), settings.MAX_PAYLOAD_BYTES
    while begun is not None:
        start = begun.end()
        value, end = _value(text, start, most)
        ended = _BETWEEN.match(text, end)
        if ended is None or end - start > most or kind_of(ended["type"]) not in _AS_JSON:
            return {"entryId": (begun["id"], f'"{begun["id"]}"'), "event": (value, text[start:end])}, end
        yield BulkEntry(begun["id"], JsonText(text[start:end].encode()), ended["type"], _NO_METADATA)
        begun = ended
    return {}, at


def members_of(text: str, at: int) -> tuple[Members, int]:
    """An object's members, and where it ends."""
    at = _open(text, at, "{", "An entry is an object.")
    return ({}, at + 1) if text[at : at + 1] == "}" else _members(text, at, {})


def _rest_of(text: str, at: int, read: Members) -> tuple[Members, int]:
    """The same, from the end of a value on."""
    following = _NEXT.match(text, at)
    if following is None:
        raise EventsUnreadable("The body is not JSON.")
    return (read, following.end()) if following[1] == "}" else _members(text, following.end(), read)


def _members(text: str, at: int, members: Members) -> tuple[Members, int]:
    most = settings.MAX_PAYLOAD_BYTES
    while (named := _NAME.match(text, at)) is not None:
        value, end = _value(text, named.end(), most)
        if named[1] in members:
            raise EventsUnreadable("An entry has a name twice.")
        if len(members) == MOST_MEMBERS:
            raise EventsUnreadable(f"An entry has more than {MOST_MEMBERS} names.")
        members[named[1]] = (value, text[named.end() : end])
        following = _NEXT.match(text, end)
        if following is None:
            break
        if following[1] == "}":
            return members, following.end()
        at = following.end()
    raise EventsUnreadable("The body is not JSON.")


def _value(text: str, at: int, most: int) -> tuple[Any, int]:
    """A value and where it ends. One that is larger than an event may be is not read: it could fill the memory."""
    if len(text) - at <= most or text[at : at + 1] not in ("[", "{"):
        return _scan(text, at)
    end = _end_of(text, at)
    return (_TOO_LARGE, end) if end - at > most else _scan(text, at)


def _end_of(text: str, at: int) -> int:
    """Where an array or an object ends, by its brackets alone."""
    depth = 0
    for _ in range(MOST_BRACKETS):
        bracket = _BRACKET.match(text, at)
        if bracket is None:
            break
        depth += 1 if bracket[1] in "[{" else -1
        at = bracket.end()
        if not depth:
            return at
    raise EventsUnreadable(f"The body is not JSON, or an event has more than {MOST_BRACKETS} brackets.")


def _open(text: str, at: int, mark: str, otherwise: str) -> int:
    """Past a mark that must stand here, and past blanks."""
    if text[at : at + 1] != mark:
        raise EventsUnreadable(otherwise)
    return _after_blanks(text, at + 1)


def _check_end(text: str, at: int) -> None:
    if text[at : at + 1] != "]" or _after_blanks(text, at + 1) < len(text):
        raise EventsUnreadable("The body is not JSON: the array does not end as it should.")


def _after_blanks(text: str, at: int) -> int:
    return _BLANKS.match(text, at).end()  # type: ignore[union-attr]


_NOTHING = (None, "")


def _entry(members: Members) -> BulkEntry:
    # The JavaScript client writes entryID.
    entry_id, text = members.get("entryId") or members.get("entryID", _NOTHING)
    # A number is read as its text, and is none.
    if not text.startswith('"') or not entry_id:
        raise EventsUnreadable("An entry has no entryId, or one that is no text.")
    try:
        content_type = _content_type(members)
        return BulkEntry(entry_id, _event(members, content_type), content_type, _metadata(members))
    except BrokerError as error:
        return BulkEntry(entry_id, error, "", {})


def _content_type(members: Members) -> str:
    """Who says nothing means text by a text, and JSON by anything else."""
    value, text = members.get("contentType", _NOTHING)
    if value is None or value == "":
        return _TEXT_TYPE if members.get("event", _NOTHING)[1].startswith('"') else _JSON_TYPE
    if not text.startswith('"') or len(value) > MAX_CONTENT_TYPE:
        raise InvalidEvent(f"contentType is a text of at most {MAX_CONTENT_TYPE} characters.")
    return str(value)


def _event(members: Members, content_type: str) -> bytes:
    if "event" not in members:
        raise InvalidEvent("The entry has no event.")
    value, text = members["event"]
    if value is _TOO_LARGE:
        raise PayloadTooLarge(f"An event has at most {settings.MAX_PAYLOAD_BYTES} bytes.")
    kind = kind_of(content_type)
    if kind in _AS_JSON:
        return JsonText(text.encode())
    if not text.startswith('"'):
        raise InvalidEvent(f"An event of the type {content_type[:100]} is a text.")
    return _decoded(value) if kind is Kind.BINARY else _encoded(value)


def _decoded(text: str) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        raise InvalidEvent("A binary event is a text in base64.") from None


def _encoded(text: str) -> bytes:
    try:
        return JsonText(text.encode())
    except UnicodeEncodeError:
        raise InvalidEvent("The event has half a surrogate pair: send such bytes in base64.") from None


def _metadata(members: Members) -> dict[str, str]:
    """Numbers and truths are meant as their texts."""
    value, _ = members.get("metadata", _NOTHING)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidMetadata("The metadata of an entry is an object of texts.")
    return {name: _word(said) for name, said in value.items() if said is not None}


def _word(said: Any) -> str:
    if isinstance(said, bool):
        return "true" if said else "false"
    if not isinstance(said, str):
        raise InvalidMetadata("The metadata of an entry is an object of texts.")
    return said
