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
# Between the middles of two words above the line, and of two that say what is cut out.
LEAST_ROOM, LEAST_CUT_ROOM = 62.0, 44.0


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
NARROW = Sheet(left=18, width=244, right=46, lane_height=54, title_below=-24, longest_title=40)


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
    x: float
    text: str


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
    height = TOP + sheet.lane_height * len(lanes) + BOTTOM
    return Picture(
        width=sheet.left + sheet.width + sheet.right,
        height=height,
        rows=drawn.rows(),
        grid=[round(x, 1) for x in drawn.axis.grid()],
        words=_words(drawn.axis),
        cuts=_cuts(drawn.axis, height),
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


def _cuts(line: Axis, height: float) -> list[Cut]:
    cuts: list[Cut] = []
    last_word = -LEAST_CUT_ROOM
    for cut in line.cuts:
        box = Box(round(cut.left, 1), 18, round(cut.right - cut.left, 1), height - 18, "cut", duration(cut.seconds))
        has_room = box.middle - last_word >= LEAST_CUT_ROOM
        last_word = box.middle if has_room else last_word
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
    return [Word(round(x, 1), f"+{text}") for (x, _), text in zip(places, told, strict=True)]
