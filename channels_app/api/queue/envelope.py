"""What a publisher sends: the queue's name and a value, which is kept as it was sent, to the byte."""

import json
import re
from typing import Any

from channels_app.api.pull.door import InvalidDocument
from channels_app.api.pull.fields import Field, Shape
from channels_app.api.queue.door import document_in
from channels_app.api.queue.fields import anything, members, name

# A message as it was published may be published again: its id is not looked at.
_MESSAGE = Shape(
    Field("id", "id", anything),
    Field("queue_name", "queue_name", name),
    Field("metadata", "metadata", members),
    Field("value", "value", anything),
)
_METADATA = Shape(Field("queue_name", "queue_name", name))
_SPACE = re.compile(r"[ \t\n\r]*")


def message_in(text: str) -> tuple[str, bytes]:
    """The name and the value."""
    named = {*_names(_MESSAGE.of(document_in(text)))}
    if len(named) != 1:
        raise InvalidDocument("One queue is expected, in metadata.queue_name.")
    values = [value for key, value in _texts(text) if key.lower() == "value"]
    if not values:
        raise InvalidDocument("value: This field is needed.")
    return named.pop(), values[-1].encode()


def _names(fields: dict[str, Any]) -> list[str]:
    metadata = fields.get("metadata", {})
    if None in metadata.values():
        raise InvalidDocument("metadata.queue_name: null is no name.")
    told = [fields, _METADATA.of(metadata)]
    return [one["queue_name"] for one in told if "queue_name" in one]


def _texts(text: str) -> list[tuple[str, str]]:
    """The members of an object that has been read already: their names, and their values as texts."""
    texts, decode = [], json.JSONDecoder().raw_decode
    at = _after_space(text, _after_space(text, 0) + 1)
    while text[at] != "}":
        key, at = decode(text, at)
        begin = _after_space(text, _after_space(text, at) + 1)
        _, end = decode(text, begin)
        texts.append((key, text[begin:end]))
        at = _after_space(text, end)
        at = _after_space(text, at + 1) if text[at] == "," else at
    return texts


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()
