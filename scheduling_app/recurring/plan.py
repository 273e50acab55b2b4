"""What becomes of the ticks that are due: made, or skipped. Pure: no clock, no database."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from scheduling_app.models import Missed
from scheduling_app.recurring.ticks import Spec, count_ticks, last_tick, next_tick, ticks_between


@dataclass(frozen=True)
class Rules:
    """`is_alone`: no tick while the one before is under way. `grace`: a tick so late was not missed."""

    missed: str
    is_alone: bool
    grace: timedelta


@dataclass(frozen=True)
class Plan:
    ticks: list[datetime]
    skipped: int
    next_at: datetime | None


def plan(spec: Spec, first: datetime, now: datetime, *, rules: Rules, most: int, is_held: bool) -> Plan:
    """Of the ticks from `first` to `now`. `is_held`: the one before is under way, and none may be made."""
    if rules.missed == Missed.ALL and not rules.is_alone:
        ticks = [first, *ticks_between(spec, first, now, most - 1)]
        # What is left is due, and made by the next step.
        return Plan(ticks, 0, next_tick(spec, ticks[-1]))
    if not rules.is_alone and (late := _late(spec, first, now, rules.grace, most)):
        return Plan(late, count_ticks(spec, first, late[0]) - 1, next_tick(spec, late[-1]))
    last = last_tick(spec, first, now)
    made = [] if is_held else _of_many(first, last, now, rules)
    return Plan(made, count_ticks(spec, first, now) - len(made), next_tick(spec, last))


def _late(spec: Spec, first: datetime, now: datetime, grace: timedelta, most: int) -> list[datetime]:
    """Those that are late and were not missed: each is made, and what was missed before them is over."""
    if now - first <= grace:
        return [first, *ticks_between(spec, first, now, most - 1)]
    return ticks_between(spec, now - grace - timedelta(microseconds=1), now, most)


def _of_many(first: datetime, last: datetime, now: datetime, rules: Rules) -> list[datetime]:
    """At most one: the others are missed, or would come while it is under way."""
    if rules.missed == Missed.ALL:
        return [first]
    return [last] if rules.missed == Missed.ONE or now - last <= rules.grace else []
