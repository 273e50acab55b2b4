"""When a schedule ticks. Pure: no clock, no database.

An interval ticks at its start and every so many seconds of real time after it; no zone and no shift matters to it.

A cron expression speaks of the wall clock of its zone, and where that clock is shifted there are two rules:

- With fixed hours (`30 2 * * *`) each local time runs once: at the first moment at which the wall clock shows it or a
  later one. So a time that the shift skips runs at the shift, several skipped ones run there once, and of an hour that
  is repeated the first one counts.
- With every hour (the hour field is `*`, or all 24) it runs at each moment whose local time fits. So `*/15 * * * *`
  goes on every 15 minutes of real time through both shifts, and nothing is made up for at a shift.
"""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

# A schedule that does not tick for so long is taken to be over.
HORIZON = timedelta(days=3653)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
# No clock is put back by more.
SHIFT = timedelta(hours=3)
# How many ticks are counted one by one.
MOST_COUNTED = 10_000
# How far the last tick is looked for, in steps: it is nearly always near.
_BACK = [timedelta(minutes=5), timedelta(hours=2), timedelta(days=2), timedelta(days=40), timedelta(days=400), HORIZON]


@dataclass(frozen=True)
class Cron:
    """What fits each field. Weekdays count from Sunday, 0. With both day fields restricted, either is enough."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    # Only an expression of six fields has others.
    seconds: tuple[int, ...] = (0,)

    @property
    def is_every_hour(self) -> bool:
        return len(self.hours) == 24

    def times_from(self, at: time) -> Iterator[time]:
        """Those of a day, which may be one a second: what is over is passed by the hour and the minute."""
        for hour in self.hours[bisect_left(self.hours, at.hour) :]:
            first = at.minute if hour == at.hour else 0
            for minute in self.minutes[bisect_left(self.minutes, first) :]:
                yield from (time(hour, minute, second) for second in self.seconds)

    def has_day(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        by_date, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return by_date or by_weekday if self.either_day else by_date and by_weekday

    def day_from(self, day: date, last: date) -> date | None:
        """The first day that fits, this one or a later one."""
        while day <= last:
            if day.month not in self.months:
                day = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
            elif self.has_day(day):
                return day
            else:
                day += DAY
        return None

    def minutes_to_next(self, minute: int) -> int:
        """From this minute of an hour to the next that fits, at most an hour away."""
        place = bisect_right(self.minutes, minute)
        return (self.minutes[place] if place < len(self.minutes) else self.minutes[0] + 60) - minute


@dataclass(frozen=True)
class Spec:
    """Cron in a zone, or a number of seconds; from `start_at` to `end_at`, both included."""

    zone: ZoneInfo
    cron: Cron | None
    interval_seconds: int | None
    start_at: datetime
    end_at: datetime | None = None


def next_tick(spec: Spec, after: datetime) -> datetime | None:
    """The first tick later than `after`; None if there is none within ten years, or before the end."""
    return next(ticks_after(spec, after), None)


def ticks_between(spec: Spec, after: datetime, until: datetime, most: int | None = None) -> list[datetime]:
    """The first ticks later than `after` and not later than `until`."""
    return list(islice(_until(ticks_after(spec, after), until), most))


def ticks_after(spec: Spec, after: datetime) -> Iterator[datetime]:
    """One after the other, in UTC. It ends where the schedule does, or where ten years pass without a tick."""
    after = after.astimezone(UTC)
    # The start itself may be a tick.
    begin = max(after, spec.start_at.astimezone(UTC) - timedelta(microseconds=1))
    if begin - after > HORIZON:
        return iter(())
    found = _by_interval(spec, begin) if spec.cron is None else _by_cron(spec.cron, spec.zone, begin)
    return _until(found, spec.end_at) if spec.end_at else found


def last_tick(spec: Spec, first: datetime, until: datetime) -> datetime:
    """The last tick not later than `until`, of a schedule that ticks at `first`, which is not later either.

    `first` may be a tick of times that it had before.
    """
    if spec.interval_seconds is not None:
        return max(first, spec.start_at + _number(spec, until) * timedelta(seconds=spec.interval_seconds))
    for back in _BACK:
        begin = max(first, until - back)
        found = deque(_until(ticks_after(spec, begin), until), maxlen=1)
        if found or begin == first:
            break
    return found[0] if found else first


def count_ticks(spec: Spec, first: datetime, until: datetime) -> int:
    """How many from `first`, a tick, to `until`. Those of a cron expression are counted up to a bound."""
    if spec.interval_seconds is None:
        return 1 + len(ticks_between(spec, first, until, MOST_COUNTED - 1))
    return 1 + max(0, _number(spec, until) - _number(spec, first))


def _number(spec: Spec, moment: datetime) -> int:
    """Of the last tick of an interval that is not later: 0 is the start, -1 before it."""
    since = min(moment, spec.end_at or moment) - spec.start_at
    return max(-1, since // timedelta(seconds=spec.interval_seconds or 0))


def _until(ticks: Iterator[datetime], end: datetime) -> Iterator[datetime]:
    for tick in ticks:
        if tick > end:
            return
        yield tick


def _by_interval(spec: Spec, after: datetime) -> Iterator[datetime]:
    step = timedelta(seconds=spec.interval_seconds or 0)
    start = spec.start_at.astimezone(UTC)
    tick = start + max(0, (after - start) // step + 1) * step
    while True:
        yield tick
        tick += step


def _by_cron(cron: Cron, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    walk = _every_hour if cron.is_every_hour else _fixed_hours
    return walk(cron, zone, after)


def _fixed_hours(cron: Cron, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """Day by day. What the wall clock has shown is over: of a repeated hour, too."""
    local = after.astimezone(zone).replace(tzinfo=None)
    day = cron.day_from(local.date(), after.date() + HORIZON)
    while day is not None:
        for at in cron.times_from(local.time() if day == local.date() else time()):
            wall = datetime.combine(day, at)
            if wall > local and (tick := reached(wall, zone)) > after:
                yield tick
                after = tick
        day = cron.day_from(day + DAY, after.date() + HORIZON)


def _every_hour(cron: Cron, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """From minute to minute that fits, day by day. The minute that has begun may have seconds to come."""
    moment = last = after.replace(second=0, microsecond=0)
    while moment - last <= HORIZON:
        local = moment.astimezone(zone)
        is_day = cron.has_day(local.date())
        if is_day and local.minute in cron.minutes:
            yield from (tick for tick in _seconds_of(moment, cron) if tick > after)
            last = moment
        if (moment + SHIFT).astimezone(zone).utcoffset() != local.utcoffset():
            # Before a shift every minute is looked at: what follows need not be later by the wall clock.
            moment += MINUTE
        elif is_day:
            moment += cron.minutes_to_next(local.minute) * MINUTE
        elif day := cron.day_from(local.date() + DAY, (last + HORIZON).date()):
            # After a shift, the clock may have shown that day before.
            moment = max(moment + MINUTE, reached(datetime.combine(day, time()), zone))
        else:
            return


def _seconds_of(minute: datetime, cron: Cron) -> Iterator[datetime]:
    return (minute + timedelta(seconds=second) for second in cron.seconds)


def reached(wall: datetime, zone: ZoneInfo) -> datetime:
    """The first moment at which the zone's wall clock shows this time or a later one, in UTC."""
    moment = wall.replace(tzinfo=zone).astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) == wall:
        return moment
    # The shift skips it, and lies between what it would be by the clock after and by the clock before.
    early = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    while moment - early > timedelta(seconds=1):
        middle = early + (moment - early) // timedelta(seconds=2) * timedelta(seconds=1)
        if middle.astimezone(zone).replace(tzinfo=None) >= wall:
            moment = middle
        else:
            early = middle
    return moment
