"""Small sums."""

from collections.abc import Sequence


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that so many per cent do not exceed; 0 if there are none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else 0.0
