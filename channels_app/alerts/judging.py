"""Pure: which rules speak of a number, what they say, and what becomes of an episode."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import Enum

from channels_app.alerts.values import Measured, Reading, Rule, Verdict
from channels_app.models import AlertKind

# Of these less is worse.
_LESS_IS_WORSE = frozenset({AlertKind.SUCCESS_RATE})


class Move(Enum):
    """What becomes of an episode, or of what is not one yet."""

    SUSPECT = "suspect"
    BEGIN = "begin"
    FORGET = "forget"
    CALM = "calm"
    STIR = "stir"
    END = "end"
    KEEP = "keep"


def verdicts(rules: Sequence[Rule], measured: Iterable[Measured]) -> list[Verdict]:
    """Of the closest rules that cover each number; all rules are of its kind."""
    return [Verdict(rule, number, read(rule, number)) for number in measured for rule in closest(rules, number)]


def closest(rules: Sequence[Rule], number: Measured) -> list[Rule]:
    covering = [rule for rule in rules if rule.covers(number.subject)]
    nearest = max((rule.closeness for rule in covering), default=0)
    return [rule for rule in covering if rule.closeness == nearest]


def read(rule: Rule, number: Measured) -> Reading:
    if number.value is None:
        return Reading.UNKNOWN
    if rule.kind not in _LESS_IS_WORSE:
        return Reading.CROSSED if number.value > rule.threshold else Reading.CALM
    if number.value >= rule.threshold:
        return Reading.CALM
    return Reading.CROSSED if number.tries >= rule.least_tries else Reading.UNKNOWN


def first_move(rule: Rule, reading: Reading) -> Move:
    """Where there is no episode yet."""
    if reading is not Reading.CROSSED:
        return Move.KEEP
    return Move.SUSPECT if rule.hold_seconds else Move.BEGIN


def move_suspected(reading: Reading, *, crossed_at: datetime, hold: timedelta, now: datetime) -> Move:
    """It has to hold without a break."""
    if reading is Reading.CALM:
        return Move.FORGET
    return Move.BEGIN if reading is Reading.CROSSED and now - crossed_at >= hold else Move.KEEP


def move_open(reading: Reading, *, calm_at: datetime | None, hold: timedelta, now: datetime) -> Move:
    """It has to be over for as long as it had to hold: a number that flaps is one episode."""
    if reading is Reading.UNKNOWN:
        return Move.KEEP
    if reading is Reading.CROSSED:
        return Move.STIR if calm_at else Move.KEEP
    if now - (calm_at or now) >= hold:
        return Move.END
    return Move.KEEP if calm_at else Move.CALM
