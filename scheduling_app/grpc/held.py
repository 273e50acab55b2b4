"""What a subscriber has on its hands: leased for it, sent or not yet, and not answered for.

It answers by the id of the event, as Dapr has it. Two events may have one id: it was a stranger's to choose. Then they
are answered for in the order that they went. Payloads are not kept: what has been sent is the client's to remember.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from channels_app.pull.lease import Leased

Key = tuple[int, int]


def key_of(job: Leased) -> Key:
    """A lease: the same job may be leased again while an earlier one is still remembered."""
    return job.job_id, job.attempt


class Kept(NamedTuple):
    """A job without what is in it, how large that is, and the id of its event once that has gone."""

    job: Leased
    size: int
    event_id: str = ""


@dataclass
class Held:
    """So many, and so many bytes, at a time; there is room again when it is down to half: jobs are taken in batches."""

    most: int
    most_bytes: int
    has_room: asyncio.Event = field(default_factory=asyncio.Event)
    is_empty: asyncio.Event = field(default_factory=asyncio.Event)
    _unsent: dict[Key, Kept] = field(default_factory=dict)
    # In the order that they went.
    _sent: dict[Key, Kept] = field(default_factory=dict)
    _by_event: dict[str, deque[Key]] = field(default_factory=dict)
    _bytes: int = 0

    def __post_init__(self) -> None:
        self._tell()

    @property
    def room(self) -> int:
        return self.most - len(self._unsent) - len(self._sent)

    @property
    def room_bytes(self) -> int:
        return self.most_bytes - self._bytes

    @property
    def jobs(self) -> list[Leased]:
        return [kept.job for kept in (*self._sent.values(), *self._unsent.values())]

    @property
    def first_sent(self) -> Leased | None:
        """Of those that have gone and are not answered for, the one that went first."""
        return next((kept.job for kept in self._sent.values()), None)

    def add(self, jobs: Iterable[Leased]) -> None:
        for job in jobs:
            self._unsent[key_of(job)] = Kept(job._replace(payload=b"", headers={}), len(job.payload))
            self._bytes += len(job.payload)
        self._tell()

    def goes(self, event_id: str, job: Leased) -> bool:
        """It is sent by this id now; False: it is ours no more."""
        key = key_of(job)
        kept = self._unsent.pop(key, None)
        if kept is None:
            return False
        self._sent[key] = kept._replace(event_id=event_id)
        self._by_event.setdefault(event_id, deque()).append(key)
        return True

    def take(self, event_id: str) -> Leased | None:
        """The first with this id; None: there is none, or it has been answered for."""
        if event_id not in self._by_event:
            return None
        key = self._by_event[event_id][0]
        job = self._sent[key].job
        self.forget([key])
        return job

    def forget(self, keys: Iterable[Key]) -> None:
        """These are ours no more: they were answered for, or their leases were ended by somebody else."""
        for key in keys:
            kept = self._unsent.pop(key, None) or self._taken_back(key)
            self._bytes -= kept.size if kept is not None else 0
        self._tell()

    def _taken_back(self, key: Key) -> Kept | None:
        kept = self._sent.pop(key, None)
        if kept is None:
            return None
        several = self._by_event[kept.event_id]
        several.remove(key)
        if not several:
            del self._by_event[kept.event_id]
        return kept

    def _tell(self) -> None:
        count = len(self._unsent) + len(self._sent)
        _set(self.has_room, count <= self.most // 2 and self._bytes <= self.most_bytes // 2)
        _set(self.is_empty, count == 0)


def _set(event: asyncio.Event, value: bool) -> None:
    if value:
        event.set()
    else:
        event.clear()
