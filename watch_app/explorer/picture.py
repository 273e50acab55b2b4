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

LEFT, WIDTH, RIGHT = 190, 780, 40
TOP, LANE_HEIGHT, BOTTOM = 44, 40, 4
BAR_HEIGHT, WAIT_HEIGHT = 14, 4
# Dots stand above the bars that they would hide.
MARK_ABOVE = 13
# What is too short to be seen is drawn all the same.
LEAST_BAR = 4.0
MOST_LANES = 30
SHOWN_TITLE = 24
# Between two words above the line.
LEAST_ROOM = 62.0


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
    y: float
    bars: list[Box]
    marks: list[Mark]


@dataclass(frozen=True)
class Word:
    x: float
    text: str


@dataclass(frozen=True)
class Picture:
    """`step`: what one step of the grid is worth. `left_out`: lanes for which there is no room."""

    width: float
    height: float
    rows: list[Row]
    grid: list[float]
    words: list[Word]
    cuts: list[Box]
    step: str
    left_out: int
    left: float = LEFT
    right: float = LEFT + WIDTH


def picture(life: Life, now: datetime) -> Picture:
    lanes = [life.beginning, *life.lanes[: MOST_LANES - 1]]
    first = min((at for lane in lanes for at in _times(lane, now)), default=now)
    drawn = _Drawing(lanes, first, now)
    height = TOP + LANE_HEIGHT * len(lanes) + BOTTOM
    return Picture(
        width=LEFT + WIDTH + RIGHT,
        height=height,
        rows=drawn.rows(),
        grid=[round(x, 1) for x in drawn.axis.grid()],
        words=_words(drawn.axis),
        cuts=_cuts(drawn.axis, height),
        step=duration(drawn.axis.step),
        left_out=len(life.lanes) + 1 - len(lanes),
    )


class _Drawing:
    def __init__(self, lanes: Sequence[Lane], first: datetime, now: datetime) -> None:
        self._lanes, self._first, self._now = lanes, first, now
        times = [self._seconds(at) for lane in lanes for at in _times(lane, now)]
        busy = [(self._seconds(start), self._seconds(end)) for lane in lanes for start, end in _busy(lane, now)]
        self.axis = axis(times, busy, left=LEFT, width=WIDTH)

    def rows(self) -> list[Row]:
        return [self._row(lane, TOP + LANE_HEIGHT * (place + 0.6)) for place, lane in enumerate(self._lanes)]

    def _row(self, lane: Lane, y: float) -> Row:
        short = lane.title if len(lane.title) <= SHOWN_TITLE else f"{lane.title[: SHOWN_TITLE - 1]}…"
        marks = [self._mark(moment, y - MARK_ABOVE) for moment in lane.moments if moment.at and not moment.attempt]
        return Row(short, lane.title, y, list(self._bars(lane, y)), marks)

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


def _cuts(line: Axis, height: float) -> list[Box]:
    return [
        Box(round(cut.left, 1), 18, round(cut.right - cut.left, 1), height - 18, "cut", duration(cut.seconds))
        for cut in line.cuts
    ]


def _words(line: Axis) -> list[Word]:
    """When each stretch begins, after the first moment, where there is room; and when the last one ends."""
    begins = [(stretch.left, stretch.start) for stretch in line.stretches if not stretch.is_cut]
    last = line.stretches[-1]
    places: list[tuple[float, float]] = []
    for x, seconds in [*begins, (last.right, last.end)]:
        if not places or x - places[-1][0] >= LEAST_ROOM:
            places.append((x, seconds))
    told = told_apart([seconds for _, seconds in places])
    return [Word(round(x, 1), f"+{text}") for (x, _), text in zip(places, told, strict=True)]
