"""How fast an operation may go: so many a second, wherever and however often it is gone on with.

The time whose worth is used up stands in the operation's row and moves with its cursor. Time in which nothing was
taken, as it was stopped or nobody was there to run it, is not made up for: that would be the flood the rate is against.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from broker_project.lib.bound import fetch
from channels_app.models import Operation
from channels_app.operations.kinds import Step

Clock = Callable[[], datetime]

MOST = 1_000
# Taken together; fewer would be a step for nothing, more would come in bursts.
SHARE_SECONDS = 0.2
# The sweep would come anyway.
MOST_REST_SECONDS = 5.0


@dataclass(frozen=True)
class Pace:
    per_second: float
    used_until: datetime

    @property
    def share(self) -> timedelta:
        """At least what one takes."""
        return timedelta(seconds=max(SHARE_SECONDS, 1 / self.per_second))

    @classmethod
    def at(cls, now: datetime, per_second: float, used_until: datetime | None) -> "Pace":
        """What was not used for longer than two shares is lost; whoever begins may take one."""
        begun = cls(per_second, now)
        least = now - 2 * begun.share
        return replace(begun, used_until=max(least, used_until) if used_until else now - begun.share)

    def allowed(self, now: datetime) -> int:
        # Times are kept to the microsecond: what is a hair less than one counts as one.
        return max(0, int((now - self.used_until).total_seconds() * self.per_second + 0.001))

    def after(self, taken: int) -> "Pace":
        return replace(self, used_until=self.used_until + timedelta(seconds=taken / self.per_second))

    def rest_seconds(self, now: datetime) -> float:
        """Until another share may be taken."""
        return max(0.0, (self.used_until + self.share - now).total_seconds())


def database_now() -> datetime:
    """Every worker's clock is this one."""
    now: datetime = fetch("SELECT clock_timestamp()")[0][0]
    return now


def paced(operation: Operation, clock: Clock, take: Callable[[int], Step]) -> Step:
    """A step of as many as may be taken now. Only what was done counts: what cannot be sent troubles nobody."""
    per_second = operation.parameters.get("rate_per_second")
    if per_second is None:
        return take(MOST)
    now = clock()
    pace = Pace.at(now, per_second, _used_until(operation.parameters))
    allowed = min(MOST, pace.allowed(now))
    step = take(allowed) if allowed else Step(cursor=operation.cursor)
    return _kept(operation, pace.after(step.done), now, step)


def _kept(operation: Operation, pace: Pace, now: datetime, step: Step) -> Step:
    used = {"used_until": pace.used_until.isoformat()}
    Operation.objects.filter(pk=operation.pk).update(parameters=operation.parameters | used)
    return replace(step, rest_seconds=min(MOST_REST_SECONDS, pace.rest_seconds(now)))


def _used_until(parameters: dict[str, Any]) -> datetime | None:
    text = parameters.get("used_until")
    return datetime.fromisoformat(text) if text else None
