"""The body of a batch, item by item: a JSON array, or a JSON value on each line."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from broker_project.lib.errors import BrokerError

_BLANKS = re.compile(r"[ \t\n\r]*")


class UnsupportedMediaType(BrokerError):
    """A batch is application/json (an array) or application/x-ndjson (an object on each line)."""

    status = 415


class MalformedBatch(BrokerError):
    """The body is not JSON."""


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# One value at a time, by the C scanner: between two of them others have their turn.
_scan = json.JSONDecoder(parse_constant=_refuse_constant).raw_decode


def array(body: bytes) -> Iterator[Any]:
    """The items of a JSON array. What is not JSON ends it all: where the next item begins cannot be told."""
    text = _decode(body)
    at = _after_blanks(text, 0)
    if text[at : at + 1] != "[":
        raise MalformedBatch("The body is not a JSON array.")
    at = _after_blanks(text, at + 1)
    if text[at : at + 1] == "]":
        return _end(text, at)
    while True:
        item, at = _value(text, at)
        yield item
        at = _after_blanks(text, at)
        if text[at : at + 1] != ",":
            return _end(text, at)
        at = _after_blanks(text, at + 1)


def lines(body: bytes) -> Iterator[Any]:
    """The items of NDJSON: a line that is not JSON spoils no other. Empty lines are nobody's item."""
    start = 0
    while start < len(body):
        end = body.find(b"\n", start)
        end = len(body) if end < 0 else end
        line = body[start:end].strip(b" \t\r")
        start = end + 1
        if line:
            yield _line(line)


def _line(line: bytes) -> Any:
    """A refusal is a value here: it is that of its item."""
    try:
        text = _decode(line)
        item, at = _value(text, 0)
        if at < len(text):
            raise MalformedBatch(f"After the value there is more, at character {at}.")
    except MalformedBatch as error:
        return error
    return item


def _end(text: str, at: int) -> None:
    if text[at : at + 1] != "]" or _after_blanks(text, at + 1) < len(text):
        raise MalformedBatch(f"The array does not end as it should, at character {at}.")


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        return _scan(text, at)
    except json.JSONDecodeError as error:
        raise MalformedBatch(f"This is not JSON: {error.msg}, at character {error.pos}.") from None
    except (ValueError, RecursionError):
        raise MalformedBatch(f"A value that cannot be read begins at character {at}.") from None


def _after_blanks(text: str, at: int) -> int:
    return _BLANKS.match(text, at).end()  # type: ignore[union-attr]


def _decode(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise MalformedBatch(f"This is not UTF-8, at byte {error.start}.") from None


Reader = Callable[[bytes], Iterator[Any]]
_READERS: dict[str, Reader] = {
    "application/json": array,
    "application/x-ndjson": lines,
    "application/ndjson": lines,
    "application/jsonl": lines,
}


def reader_for(content_type: str) -> Reader:
    kind, _, parameters = content_type.partition(";")
    reader = _READERS.get(kind.strip().lower())
    charset = re.search(r"charset\s*=\s*\"?([^\s\";]+)", parameters, re.IGNORECASE)
    if reader is None or (charset and charset[1].lower() not in ("utf-8", "utf8", "us-ascii")):
        raise UnsupportedMediaType
    return reader
