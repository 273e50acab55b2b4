"""Payloads for people: nothing is changed but spaces, and never all of a big one is shown."""

import json

import pytest

from channels_app.admin.payloads import SHOWN_BYTES, hex_dump, indented, show


def test_json_comes_in_lines_with_every_number_and_key_as_it_was_sent() -> None:
    sent = '{"big":12345678901234567890.10,"a":[],"a":{"x":[1,"b , ] c",null]}}'
    assert indented(sent) == "\n".join(
        [
            "{",
            '  "big": 12345678901234567890.10,',
            '  "a": [],',
            '  "a": {',
            '    "x": [',
            "      1,",
            '      "b , ] c",',
            "      null",
            "    ]",
            "  }",
            "}",
        ]
    )


@pytest.mark.parametrize("sent", ['"a \\" b"', "{}", "[[{}]]", ' {"é": "\\u00e9"} ', "-1.5e10", "true"])
def test_json_in_lines_means_the_same(sent: str) -> None:
    lines = indented(sent)
    assert lines is not None
    assert json.loads(lines) == json.loads(sent)


@pytest.mark.parametrize("sent", ["", "{", "{'a': 1}", "[" * 50_000, "9" * 5_000, "[" * 900 + "]" * 900 + "x"])
def test_what_is_not_json_stays_text(sent: str) -> None:
    assert indented(sent) is None
    assert show(sent.encode(), size=len(sent)).kind == "Text"


def test_json_that_would_grow_beyond_measure_stays_text() -> None:
    sent = "[" * 900 + ",".join(["0"] * 30_000) + "]" * 900
    assert show(sent.encode(), size=len(sent)).kind == "Text"


@pytest.mark.parametrize("sent", [b"\xff\xfe", b"a\x00b", b"\x1b[31m", "é".encode("latin-1")])
def test_what_is_not_text_is_a_hex_dump(sent: bytes) -> None:
    assert show(sent, size=len(sent)).kind == "Binary"


def test_a_hex_dump_has_places_bytes_and_letters() -> None:
    first, second = hex_dump(b"GIF89a\x00\x01<script>!" + b"~").splitlines()
    assert first == "00000000  47 49 46 38 39 61 00 01 3c 73 63 72 69 70 74 3e  GIF89a..<script>"
    assert second == "00000010  21 7e                                            !~"


def test_a_big_payload_is_cut_and_says_so_even_in_the_middle_of_a_character() -> None:
    whole = ("x" * (SHOWN_BYTES - 1) + "é" * 10).encode()
    shown = show(whole[:SHOWN_BYTES], size=len(whole))
    assert shown.caption == "Text, 65,555 bytes. Only the first 65,536 are shown."
    assert shown.text == "x" * (SHOWN_BYTES - 1)
