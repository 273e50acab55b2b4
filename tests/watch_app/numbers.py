"""Short words for numbers over time."""

from dataclasses import astuple

from django.utils import timezone

from watch_app.series import series, span_of
from watch_app.values import Point, Scope, Totals

ALL = Scope()


def totals(scope: Scope = ALL, words: str = "1h") -> Totals:
    return series(scope, span_of(words, timezone.now())).totals


def flows(scope: Scope = ALL, words: str = "1h") -> tuple[int, int, int, int, int]:
    """Accepted, delivered, failed, dead, scheduled."""
    found: tuple[int, int, int, int, int] = astuple(totals(scope, words))[:5]
    return found


def points(scope: Scope = ALL, words: str = "1h") -> list[Point]:
    return list(series(scope, span_of(words, timezone.now())).points)
