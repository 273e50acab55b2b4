"""Times as counts by size: they can be added up, and percentiles are read from the sum. Pure."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, zip_longest

from watch_app.values import Percentiles

# From a millisecond to more than a day, six to a power of ten, in seconds. As the triggers have them: a place is the
# number of edges that a time has reached.
EDGES: tuple[float, ...] = tuple(round(10 ** (number / 6 - 3), 6) for number in range(49))

Histogram = Sequence[int]


def added(*several: Histogram) -> list[int]:
    return [sum(counts) for counts in zip_longest(*several, fillvalue=0)]


def percentiles(counts: Histogram) -> Percentiles:
    """None of nothing."""
    sums = list(accumulate(counts))
    if not sums or not sums[-1]:
        return Percentiles()
    return Percentiles(*(_quantile(sums, share) for share in (0.5, 0.95, 0.99)))


def _quantile(sums: list[int], share: float) -> float:
    """The time that this share of all is at or below."""
    rank = share * sums[-1]
    place = bisect_left(sums, rank)
    below = sums[place - 1] if place else 0
    return _between(place, (rank - below) / (sums[place] - below))


def _between(place: int, part: float) -> float:
    """So far into a place: as times are spread, by ratio, not by difference."""
    if place == 0:
        return EDGES[0] * part
    if place == len(EDGES):
        return EDGES[-1]
    low, high = EDGES[place - 1], EDGES[place]
    return float(low * (high / low) ** part)
