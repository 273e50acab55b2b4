"""A payload for people: JSON in lines, text as it is, anything else as a hex dump. Never more than a part of it."""

import codecs
import json
import re
from dataclasses import dataclass

SHOWN_BYTES = 64 * 1024
MOST_INDENTED = 4 * SHOWN_BYTES
DEEPEST_INDENT = 24
HEX_WIDTH = 16

_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+')
# Tabs and ends of lines belong to text; other control characters do not.
_NOT_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True)
class Shown:
    """`kind` is JSON, Text or Binary; `shown` of `size` bytes are in it."""

    kind: str
    text: str
    shown: int
    size: int

    @property
    def caption(self) -> str:
        cut = f" Only the first {self.shown:,} are shown." if self.shown < self.size else ""
        return f"{self.kind}, {self.size:,} bytes.{cut}"


def show(head: bytes, *, size: int) -> Shown:
    """`head` is the beginning of a payload of this size."""
    whole = len(head) == size
    text = _as_text(head, whole=whole)
    if text is None:
        return Shown("Binary", hex_dump(head), len(head), size)
    lines = indented(text) if whole else None
    return Shown("Text" if lines is None else "JSON", text if lines is None else lines, len(head), size)


def _as_text(head: bytes, *, whole: bool) -> str | None:
    """The cut may fall into a character: its bytes are left away."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head, final=whole)
    except UnicodeDecodeError:
        return None
    return None if _NOT_TEXT.search(text) else text


def indented(text: str) -> str | None:
    """JSON in lines, or None for what is not. Only spaces move: parsed and written anew, numbers and repeated
    keys would not be what was sent.
    """
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    lines = "".join(_pieces(_WORD.findall(text)))
    return lines if len(lines) <= MOST_INDENTED else None


def _pieces(words: list[str]) -> list[str]:
    pieces: list[str] = []
    depth = 0
    for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
        if word in "}]":
            depth -= 1
            pieces.append(word if before in ("{", "[") else _line(depth) + word)
        elif word in "{[":
            depth += 1
            pieces.append(word if after in ("}", "]") else word + _line(depth))
        elif word == ",":
            pieces.append(word + _line(depth))
        else:
            pieces.append(": " if word == ":" else word)
    return pieces


def _line(depth: int) -> str:
    return "\n" + "  " * min(depth, DEEPEST_INDENT)


def hex_dump(data: bytes) -> str:
    rows = (data[at : at + HEX_WIDTH] for at in range(0, len(data), HEX_WIDTH))
    return "\n".join(_hex_row(number * HEX_WIDTH, row) for number, row in enumerate(rows))


def _hex_row(at: int, row: bytes) -> str:
    letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
    return f"{at:08x}  {row.hex(' '):<{HEX_WIDTH * 3 - 1}}  {letters}"
