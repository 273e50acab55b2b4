"""A sweep: channels take turns, a batch each, until nothing is left or the time is over; the next one goes on."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from django.conf import settings
from django.db import connection

from broker_project.lib.errors import BrokerError
from broker_project.lib.pg_lock import only_one
from reports_app.prune import cancelled, messages, records
from reports_app.prune.messages import Step, Wanted
from reports_app.prune.tally import Tally

# One at a time: two would pass over what the other holds, and both look at everything.
PRUNE_LOCK = 7_014
# Messages in a batch: some thousand rows, held for some ten milliseconds.
MOST = 500
# Others wait for the thread.
SWEEP_SECONDS = 5.0
# After a batch, deliveries have the database to themselves for as long as it took, times this.
REST = 0.5

# In any order: no channel is always the last for which there is no time.
_WANTED = """
SELECT c.id, c.public_id, c.retention_days, coalesce(p.retention_days, nullif(%s::int, 0)),
       state.pruned_message, state.pruned_scheduled
FROM channel c JOIN channel_state state ON state.channel_id = c.id
LEFT JOIN dead_letter_policy p ON p.channel_id = c.id
WHERE c.retention_days IS NOT NULL ORDER BY random()
"""
_REMEMBER = "UPDATE channel_state SET {column} = %(after)s WHERE channel_id = %(channel)s AND {column} <> %(after)s"


class PruningUnderWay(BrokerError):
    """Another pruning is under way: try again when it has ended."""

    status = 409


class Batch(Protocol):
    def __call__(self, wanted: Wanted, *, after: int, most: int) -> Step: ...


@dataclass(frozen=True)
class Swept:
    """What went; and whether the time was over before the work."""

    gone: Tally
    has_more: bool = False


@dataclass(frozen=True)
class Pruned:
    """What went with its messages, and what no channel owns."""

    gone: Tally
    records: Counter[str]


@dataclass
class Walk:
    """Along one channel's rows; the place where it stops is kept in `column`."""

    channel: str
    wanted: Wanted
    batch: Batch
    column: str
    after: int
    is_over: bool = False

    def step(self) -> Tally:
        step = self.batch(self.wanted, after=self.after, most=MOST)
        # What could not go yet is looked at again from the beginning.
        self.after, self.is_over = (0, True) if step.is_over else (step.last_id, False)
        return step.gone

    def remember(self) -> None:
        with connection.cursor() as cursor:
            told = {"after": self.after, "channel": self.wanted.channel_id}
            cursor.execute(_REMEMBER.format(column=self.column), told)


def sweep(*, seconds: float = SWEEP_SECONDS) -> Swept:
    """While another sweep is under way: nothing."""
    with only_one(PRUNE_LOCK, patience_seconds=0) as is_ours:
        if not is_ours:
            return Swept(Tally())
        deadline = time.monotonic() + seconds
        drained = [_drain(remove, deadline) for remove in records.REMOVES.values()]
        swept = _take_turns(_walks(), deadline)
        return Swept(swept.gone, swept.has_more or not all(drained))


def _drain(remove: Callable[[], int], deadline: float) -> bool:
    """Whether none is left."""
    while remove() == records.MOST:
        if time.monotonic() >= deadline:
            return False
    return True


def _take_turns(walks: list[Walk], deadline: float) -> Swept:
    gone, left = Tally(), walks
    while left and time.monotonic() < deadline:
        for walk in left:
            gone += _gently(walk)
            if time.monotonic() > deadline:
                break
        left = [walk for walk in left if not walk.is_over]
    for walk in walks:
        walk.remember()
    # A look that found nothing to take is not followed by another at once: where all must stay, there would be no end.
    return Swept(gone, bool(left and gone.total))


def count(channel: str | None = None) -> dict[str, Tally]:
    """By channel: what would go now, from the first message on. Nothing changes."""
    counted: dict[str, Tally] = {}
    for walk in _looks():
        if channel in (None, walk.channel):
            gone = counted.setdefault(walk.channel, Tally())
            while not walk.is_over:
                gone += walk.step()
    return counted


def prune_all(channel: str | None = None) -> Pruned:
    """Everything that may go now, from the first message on. What no channel owns goes where none is named."""
    gone = Tally()
    with only_one(PRUNE_LOCK, patience_seconds=SWEEP_SECONDS * 2) as is_ours:
        if not is_ours:
            raise PruningUnderWay
        removed = records.remove_all() if channel is None else Counter()
        for walk in _walks():
            walk.after, walk.is_over = 0, channel not in (None, walk.channel)
            while not walk.is_over:
                gone += _gently(walk)
    return Pruned(gone, removed)


def _gently(walk: Walk) -> Tally:
    began = time.monotonic()
    gone = walk.step()
    if gone.total:
        time.sleep(REST * (time.monotonic() - began))
    return gone


def _walks() -> list[Walk]:
    walks = []
    for channel_id, name, days, letter_days, message, scheduled in _wanted():
        wanted = Wanted(channel_id, days, letter_days)
        walks.append(Walk(name, wanted, messages.prune_batch, "pruned_message", message))
        walks.append(Walk(name, wanted, cancelled.prune_batch, "pruned_scheduled", scheduled))
    return walks


def _looks() -> list[Walk]:
    looks = []
    for channel_id, name, days, letter_days, _, _ in sorted(_wanted()):
        wanted = Wanted(channel_id, days, letter_days)
        looks.append(Walk(name, wanted, messages.count_batch, "pruned_message", 0))
        looks.append(Walk(name, wanted, cancelled.count_batch, "pruned_scheduled", 0))
    return looks


def _wanted() -> list[tuple[int, str, int, int | None, int, int]]:
    with connection.cursor() as cursor:
        cursor.execute(_WANTED, [settings.DEAD_LETTER_RETENTION_DAYS])
        return list(cursor.fetchall())
