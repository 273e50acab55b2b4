"""The picture of a life: what is written in it can be read."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from channels_app.admin.timeline import Moment
from channels_app.models import DeliveryAttempt
from watch_app.explorer.life import Lane, Life
from watch_app.explorer.picture import ANCHORS, NARROW, WIDE, Picture, Sheet, picture

FIRST = datetime(2026, 11, 18, 12, tzinfo=UTC)
# What a browser needs on the whole: 105 pixels for 18 letters of 12 pixels.
LETTER, CUT_LETTER = 5.9, 4.9

Span = tuple[float, float]


def drawn(tries: Sequence[Span], sheet: Sheet) -> Picture:
    attempts = [
        DeliveryAttempt(finished_at=FIRST + timedelta(seconds=end), duration_ms=round((end - start) * 1000))
        for start, end in tries
    ]
    moments = [Moment("failed", "danger", "A try.", one.finished_at, attempt=one) for one in attempts]
    life = Life(Lane("message", []), [Lane("billing", moments, attempts=tuple(attempts))], is_final=True)
    return picture(life, FIRST, sheet)


def spans(shown: Picture) -> list[Span]:
    widths = [len(word.text) * LETTER for word in shown.words]
    lefts = [word.x - width * ANCHORS[word.anchor] for word, width in zip(shown.words, widths, strict=True)]
    return [(left, left + width) for left, width in zip(lefts, widths, strict=True)]


def cut_spans(shown: Picture) -> list[Span]:
    halves = [(cut.box.middle, len(cut.word) * CUT_LETTER / 2) for cut in shown.cuts if cut.word]
    return [(middle - half, middle + half) for middle, half in halves]


LIVES: dict[str, list[Span]] = {
    "after an hour": [(0, 2), (3600, 3602)],
    "after minutes": [(0, 0.01), (299, 299.01), (598, 598.01), (897, 897.01), (9000, 9000.01)],
    "at once": [(0, 0.001), (0.0012, 0.0022)],
    "after days": [(0, 30), (180_000, 180_029.5), (900_000, 900_030.25)],
}


@pytest.mark.parametrize("sheet", [WIDE, NARROW])
@pytest.mark.parametrize("tries", LIVES.values(), ids=LIVES)
def test_no_word_leaves_the_picture_or_touches_another(tries: list[Span], sheet: Sheet) -> None:
    shown = drawn(tries, sheet)
    for written in (spans(shown), cut_spans(shown)):
        assert all(left >= 0 and right <= shown.width for left, right in written)
        assert all(before[1] < after[0] for before, after in pairwise(written))


@pytest.mark.parametrize(
    ("sheet", "words"),
    [(WIDE, ["+0 ms", "+1 h 0 min 0.000 s", "+1 h 0 min 2.000 s"]), (NARROW, ["+0 ms", "+1 h 0 min 2.000 s"])],
)
def test_a_word_that_has_no_room_is_left_out_but_never_the_last(sheet: Sheet, words: list[str]) -> None:
    assert [word.text for word in drawn(LIVES["after an hour"], sheet).words] == words
