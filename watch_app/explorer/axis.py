"""Time on a line, for milliseconds and for days. Pure.

Where nothing happens for long, time is cut out, and the cut says how much: what is left is drawn to one scale.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

# A rest is cut if it is so many times as long as everything shorter together.
OUT_OF_PROPORTION = 4.0
CUT_WIDTH = 46.0
# However many cuts there are, they leave so much of the line.
MOST_CUT = 0.6
MOST_STEPS = 60
STEPS = (1, 2, 5)

Busy = tuple[float, float]


@dataclass(frozen=True)
class Stretch:
    """From one time to another, in seconds, and where that is on the line."""

    start: float
    end: float
    left: float
    right: float
    is_cut: bool

    @property
    def seconds(self) -> float:
        return self.end - self.start

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2

    def at(self, seconds: float) -> float:
        share = (seconds - self.start) / self.seconds if self.seconds else 0.5
        return self.left + share * (self.right - self.left)


@dataclass(frozen=True)
class Axis:
    stretches: list[Stretch]

    def at(self, seconds: float) -> float:
        starts = [stretch.start for stretch in self.stretches]
        place = max(0, bisect_right(starts, seconds) - 1)
        return self.stretches[place].at(min(seconds, self.stretches[place].end))

    @property
    def cuts(self) -> list[Stretch]:
        return [stretch for stretch in self.stretches if stretch.is_cut]

    @property
    def step(self) -> float:
        """Of the grid: a round number of seconds, so that there are a few of them."""
        return _round_step(sum(stretch.seconds for stretch in self.stretches if not stretch.is_cut) / 8)

    def grid(self) -> list[float]:
        """Places a step apart, from the beginning of each stretch that is drawn to scale."""
        places = []
        for stretch in self._runs():
            count = min(MOST_STEPS, int(stretch.seconds / self.step) + 1)
            places += [stretch.at(stretch.start + number * self.step) for number in range(count)]
        return places

    def _runs(self) -> list[Stretch]:
        """Neighbours that are to scale, as one."""
        runs: list[Stretch] = []
        for stretch in self.stretches:
            if stretch.is_cut:
                continue
            if runs and runs[-1].end == stretch.start:
                runs[-1] = Stretch(runs[-1].start, stretch.end, runs[-1].left, stretch.right, is_cut=False)
            else:
                runs.append(stretch)
        return runs


def axis(times: Sequence[float], busy: Sequence[Busy], *, left: float, width: float) -> Axis:
    """`times` is all that is drawn, in seconds; within `busy` nothing is cut out."""
    points = sorted({*times, *(end for pair in busy for end in pair)})
    if len(points) < 2:
        at = points[0] if points else 0.0
        return Axis([Stretch(at, at, left, left + width, is_cut=False)])
    spans = list(pairwise(points))
    cut = _cut(spans, busy)
    cut_width = min(CUT_WIDTH, MOST_CUT * width / len(cut)) if cut else 0.0
    shown = sum(end - start for start, end in spans if (start, end) not in cut)
    scale = (width - cut_width * len(cut)) / shown if shown else 0.0
    return Axis(_laid(spans, cut, left=left, cut_width=cut_width, scale=scale))


def _cut(spans: Sequence[Busy], busy: Sequence[Busy]) -> set[Busy]:
    """Rests, from the shortest on, until one is out of proportion: it and all longer ones are cut."""
    rests = sorted((span for span in spans if not _is_busy(span, busy)), key=lambda span: span[1] - span[0])
    kept = sum(end - start for start, end in spans) - sum(end - start for start, end in rests)
    for place, (start, end) in enumerate(rests):
        if kept and end - start > OUT_OF_PROPORTION * kept:
            return set(rests[place:])
        kept += end - start
    return set()


def _is_busy(span: Busy, busy: Sequence[Busy]) -> bool:
    return any(start < span[1] and end > span[0] for start, end in busy)


def _laid(spans: Sequence[Busy], cut: set[Busy], *, left: float, cut_width: float, scale: float) -> list[Stretch]:
    stretches = []
    for start, end in spans:
        is_cut = (start, end) in cut
        right = left + (cut_width if is_cut else (end - start) * scale)
        stretches.append(Stretch(start, end, left, right, is_cut))
        left = right
    return stretches


def _round_step(seconds: float) -> float:
    """The next of 1, 2, 5, 10, … milliseconds."""
    power = 0.001
    while True:
        for step in STEPS:
            if step * power >= seconds:
                return step * power
        power *= 10


def told_apart(times: Sequence[float]) -> list[str]:
    """Durations; those that would be the same words have more digits."""
    words = [duration(seconds) for seconds in times]
    return [_exactly(seconds) if words.count(word) > 1 else word for seconds, word in zip(times, words, strict=True)]


def _exactly(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.2f} ms"
    minutes, rest = divmod(round(seconds, 3), 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{f'{hours} h ' if hours else ''}{f'{minutes} min ' if minutes or hours else ''}{rest:.3f} s"


def duration(seconds: float) -> str:
    """In the two units that matter: 5 ms, 1.2 s, 2 min 3 s, 4 h 10 min, 3 d 2 h."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"
