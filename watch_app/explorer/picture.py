"""The picture of a life: a lane for the message and one for each consumer, a bar for each try, a mark for each event.

Places only: the template draws them, so that whatever came from outside stays text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from channels_app.admin.timeline import Moment, stamp
from channels_app.models import DeliveryAttempt, JobStatus
from watch_app.explorer.axis import Axis, axis, duration, told_apart
from watch_app.explorer.life import Lane, Life

TOP, BOTTOM = 44, 4
BAR_HEIGHT, WAIT_HEIGHT = 14, 4
# Dots stand above the bars that they would hide.
MARK_ABOVE = 13
# What is too short to be seen is drawn all the same.
LEAST_BAR = 4.0
MOST_LANES = 30
# Words above the line are no closer, however short they are.
LEAST_ROOM = 62.0
# A letter of a word above the line, and of one that says what is cut out, is at most so wide on the whole.
LETTER, CUT_LETTER = 7.0, 5.8
GAP = 4.0
# How much of a word stands before its place.
ANCHORS = {"start": 0.0, "middle": 0.5, "end": 1.0}


@dataclass(frozen=True)
class Sheet:
    """What a picture is drawn on. `title_below`: a lane's title stands so far below its line; above it, if negative."""

    left: float
    width: float
    right: float
    lane_height: float
    title_below: float
    longest_title: int


# Titles stand beside their lanes.
WIDE = Sheet(left=190, width=780, right=40, lane_height=40, title_below=4, longest_title=24)
# For a phone, in the size in which it is shown there: titles stand above their lanes.
NARROW = Sheet(left=18, width=266, right=24, lane_height=54, title_below=-24, longest_title=40)


@dataclass(frozen=True)
class Box:
    """A try, a wait, or a time that is cut out; `title` says it in words."""

    x: float
    y: float
    width: float
    height: float
    tone: str
    title: str

    @property
    def middle(self) -> float:
        return round(self.x + self.width / 2, 1)


@dataclass(frozen=True)
class Mark:
    x: float
    y: float
    tone: str
    title: str


@dataclass(frozen=True)
class Row:
    title: str
    whole_title: str
    title_y: float
    y: float
    bars: list[Box]
    marks: list[Mark]


@dataclass(frozen=True)
class Word:
    """`anchor`: what of it stands at `x`. Where it begins and ends is estimated: the browser knows the letters."""

    x: float
    text: str
    anchor: str

    @property
    def left(self) -> float:
        return self.x - len(self.text) * LETTER * ANCHORS[self.anchor]

    @property
    def right(self) -> float:
        return self.left + len(self.text) * LETTER


@dataclass(frozen=True)
class Cut:
    """A time that is left out; `word` says how long it is, where there is room."""

    box: Box
    word: str


@dataclass(frozen=True)
class Picture:
    """`step`: what one step of the grid is worth. `left_out`: lanes for which there is no room."""

    width: float
    height: float
    rows: list[Row]
    grid: list[float]
    words: list[Word]
    cuts: list[Cut]
    step: str
    left_out: int
    left: float
    right: float


def picture(life: Life, now: datetime, sheet: Sheet = WIDE) -> Picture:
    lanes = [life.beginning, *life.lanes[: MOST_LANES - 1]]
    first = min((at for lane in lanes for at in _times(lane, now)), default=now)
    drawn = _Drawing(lanes, first, now, sheet)
    width, height = sheet.left + sheet.width + sheet.right, TOP + sheet.lane_height * len(lanes) + BOTTOM
    return Picture(
        width=width,
        height=height,
        rows=drawn.rows(),
        grid=[round(x, 1) for x in drawn.axis.grid()],
        words=_words(drawn.axis),
        cuts=_cuts(drawn.axis, width, height),
        step=duration(drawn.axis.step),
        left_out=len(life.lanes) + 1 - len(lanes),
        left=sheet.left,
        right=sheet.left + sheet.width,
    )


class _Drawing:
    def __init__(self, lanes: Sequence[Lane], first: datetime, now: datetime, sheet: Sheet) -> None:
        self._lanes, self._first, self._now, self._sheet = lanes, first, now, sheet
        times = [self._seconds(at) for lane in lanes for at in _times(lane, now)]
        busy = [(self._seconds(start), self._seconds(end)) for lane in lanes for start, end in _busy(lane, now)]
        self.axis = axis(times, busy, left=sheet.left, width=sheet.width)

    def rows(self) -> list[Row]:
        height = self._sheet.lane_height
        return [self._row(lane, TOP + height * (place + 0.6)) for place, lane in enumerate(self._lanes)]

    def _row(self, lane: Lane, y: float) -> Row:
        longest = self._sheet.longest_title
        short = lane.title if len(lane.title) <= longest else f"{lane.title[: longest - 1]}…"
        marks = [self._mark(moment, y - MARK_ABOVE) for moment in lane.moments if moment.at and not moment.attempt]
        return Row(short, lane.title, y + self._sheet.title_below, y, list(self._bars(lane, y)), marks)

    def _bars(self, lane: Lane, y: float) -> Iterable[Box]:
        """Waits lie below the tries that they lead to."""
        for before, after in pairwise(lane.attempts):
            start, end = before.finished_at, max(before.finished_at, _began(after))
            yield self._box((start, end), y, "wait", f"Waited {duration((end - start).total_seconds())}")
        for moment in lane.moments:
            if moment.attempt is not None:
                times = _began(moment.attempt), moment.attempt.finished_at
                yield self._box(times, y, moment.tone, moment.text)
        under_way = _under_way(lane, self._now)
        if under_way:
            yield self._box(under_way, y, "now", "Under way")

    def _box(self, times: tuple[datetime, datetime], y: float, tone: str, title: str) -> Box:
        left, right = (self.axis.at(self._seconds(at)) for at in times)
        height = WAIT_HEIGHT if tone == "wait" else BAR_HEIGHT
        return Box(round(left, 1), y - height / 2, round(max(LEAST_BAR, right - left), 1), height, tone, title)

    def _mark(self, moment: Moment, y: float) -> Mark:
        assert moment.at is not None
        x = round(self.axis.at(self._seconds(moment.at)), 1)
        return Mark(x, y, moment.tone, f"{moment.word}, {stamp(moment.at)}: {moment.text}")

    def _seconds(self, at: datetime) -> float:
        return (at - self._first).total_seconds()


def _began(attempt: DeliveryAttempt) -> datetime:
    return attempt.finished_at - timedelta(milliseconds=attempt.duration_ms)


def _under_way(lane: Lane, now: datetime) -> tuple[datetime, datetime] | None:
    if lane.job is None or lane.job.status != JobStatus.INFLIGHT:
        return None
    return lane.job.status_changed_at, max(now, lane.job.status_changed_at)


def _busy(lane: Lane, now: datetime) -> list[tuple[datetime, datetime]]:
    tries = [(_began(moment.attempt), moment.attempt.finished_at) for moment in lane.moments if moment.attempt]
    under_way = _under_way(lane, now)
    return [*tries, under_way] if under_way else tries


def _times(lane: Lane, now: datetime) -> list[datetime]:
    marks = [moment.at for moment in lane.moments if moment.at and not moment.attempt]
    return [*marks, *(end for pair in _busy(lane, now) for end in pair)]


def _cuts(line: Axis, width: float, height: float) -> list[Cut]:
    cuts: list[Cut] = []
    taken = 0.0
    for cut in line.cuts:
        box = Box(round(cut.left, 1), 18, round(cut.right - cut.left, 1), height - 18, "cut", duration(cut.seconds))
        half = len(box.title) * CUT_LETTER / 2
        has_room = taken <= box.middle - half and box.middle + half <= width
        taken = box.middle + half + GAP if has_room else taken
        cuts.append(Cut(box, box.title if has_room else ""))
    return cuts


def _words(line: Axis) -> list[Word]:
    """When each stretch begins, after the first moment, where there is room; and always when the last one ends."""
    last = line.stretches[-1]
    places: list[tuple[float, float]] = []
    for stretch in line.stretches:
        has_room = not places or stretch.left - places[-1][0] >= LEAST_ROOM
        if not stretch.is_cut and has_room and last.right - stretch.left >= LEAST_ROOM:
            places.append((stretch.left, stretch.start))
    places.append((last.right, last.end))
    told = told_apart([seconds for _, seconds in places])
    words = zip(places, told, strict=True)
    return _with_room([Word(round(x, 1), f"+{text}", _anchor(x, line)) for (x, _), text in words])


def _anchor(x: float, line: Axis) -> str:
    """At its ends words stay within the line: there may be no room beside it."""
    if x <= line.stretches[0].left:
        return "start"
    return "end" if x >= line.stretches[-1].right else "middle"


def _with_room(words: Sequence[Word]) -> list[Word]:
    """The last one, and of the others those that touch neither it nor the one before."""
    *others, last = words
    shown: list[Word] = []
    for word in others:
        taken = shown[-1].right + GAP if shown else 0.0
        if taken <= word.left and word.right + GAP <= last.left:
            shown.append(word)
    return [*shown, last]
