"""What has passed a door is committed in groups, of what goes now and of what goes later. All doors share them."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from broker_project.api.door_pool import door_pool
from broker_project.api.group_commit import GroupCommit
from channels_app.delivery.accept import Incoming, store
from channels_app.doorbell import ring_fan_out
from scheduling_app.accept import Dapr, Later, Times, store_later
from scheduling_app.bells import ring_for
from scheduling_app.shots import Shot, store_shots


async def _write(messages: Sequence[Incoming]) -> list[bool]:
    async with door_pool().connection() as connection:
        stored = await store(connection, messages)
    ring_fan_out()
    return stored


async def _write_later(several: Sequence[Later]) -> list[bool]:
    async with door_pool().connection() as connection:
        stored = await store_later(connection, several)
    ring_for(several)
    return stored


async def _write_shots(shots: Sequence[Shot]) -> list[bool]:
    async with door_pool().connection() as connection:
        stored = await store_shots(connection, shots)
    ring_for(shot.later for shot in shots)
    return stored


_commits = GroupCommit[Incoming, bool](_write, size_of=lambda message: message.size)
_commits_later = GroupCommit[Later, bool](_write_later, size_of=lambda later: later.size)
_commits_shots = GroupCommit[Shot, bool](_write_shots, size_of=lambda shot: shot.size)


async def start_door() -> None:
    await _commits.start()
    await _commits_later.start()
    await _commits_shots.start()


async def stop_door() -> None:
    await _commits.stop()
    await _commits_later.stop()
    await _commits_shots.stop()


def put_shot(shot: Shot) -> asyncio.Future[bool]:
    """True in the end: stored. False: its name is another job's."""
    return _commits_shots.put(shot)


class Arrived(NamedTuple):
    """A message that is in order, and its times if it is for later, with what Dapr's door was told of it."""

    message: Incoming
    times: Times | None
    dapr: Dapr | None = None

    def put(self) -> asyncio.Future[bool]:
        """True in the end: stored. False: its id was taken."""
        if self.times is None:
            return _commits.put(self.message)
        return _commits_later.put(Later(self.message, self.times, self.dapr))
