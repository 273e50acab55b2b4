"""The body of a batch becomes items."""

from typing import Any

import pytest

from scheduling_app.api.items import MalformedBatch, UnsupportedMediaType, array, lines, reader_for


@pytest.mark.parametrize(
    ("body", "items"),
    [
        (b"[]", []),
        (b" [ ] \n", []),
        (b'[1,"a",{"b":[2]},null]', [1, "a", {"b": [2]}, None]),
        (b"\r\n[ 1 ,\t2\n]\r\n", [1, 2]),
        ('["é", "😀"]'.encode(), ["é", "😀"]),
        (b'["[,]"]', ["[,]"]),
    ],
)
def test_an_array_is_read_item_by_item(body: bytes, items: list[Any]) -> None:
    assert list(array(body)) == items


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{}", b"1", b"[", b"[1", b"[1,", b"[1,]", b"[,1]", b"[1 2]", b"[1]]", b"[1] x", b"[1],"),
        *(b"[NaN]", b"[Infinity]", b"[-Infinity]", b"['a']", b'["\x01"]', b'["\xff"]', b"\xef\xbb\xbf[1]"),
        *(b"[" + b"[" * 100_000, b"[" + b"9" * 5000 + b"]", b"[1]\x00"),
    ],
)
def test_what_is_no_array_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedBatch):
        list(array(body))


@pytest.mark.parametrize(
    ("body", "items"),
    [
        (b"", []),
        (b"\n\r\n \t\n", []),
        (b"1\n2\n", [1, 2]),
        (b'{"a": 1}\r\n\r\n[2]', [{"a": 1}, [2]]),
        (b'"a\\nb"', ["a\nb"]),
        ('"\u2028"\n1'.encode(), ["\u2028", 1]),
    ],
)
def test_lines_are_items(body: bytes, items: list[Any]) -> None:
    assert list(lines(body)) == items


@pytest.mark.parametrize("line", [b"{", b"1 2", b"\xff", b"nan", b"NaN", b'{"a":}', b"[" * 100_000])
def test_a_line_that_is_not_json_stands_for_its_refusal(line: bytes) -> None:
    before, refused, after = lines(b"1\n" + line + b"\n2")

    assert (before, after) == (1, 2)
    assert isinstance(refused, MalformedBatch)


@pytest.mark.parametrize("content_type", ["application/json", "Application/JSON ; charset=utf-8", "application/json;"])
def test_json_is_an_array(content_type: str) -> None:
    assert reader_for(content_type) is array


@pytest.mark.parametrize("content_type", ["", "json", "text/json", "application/json; charset=latin1", "text/csv"])
def test_other_media_types_are_refused(content_type: str) -> None:
    with pytest.raises(UnsupportedMediaType):
        reader_for(content_type)
