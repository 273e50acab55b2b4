"""Requests that share a commit, and what happens to the others when one of them is bad."""

import asyncio
from collections.abc import Sequence

import psycopg
import pytest

from broker_project.api import group_commit
from broker_project.api.group_commit import DoorFull, GroupCommit, OutcomeUnknown, RowRefused


class Store:
    """Writes groups as a table would: whole, or not at all."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.open = asyncio.Event()
        self.open.set()

    async def write(self, items: Sequence[str]) -> list[str]:
        await self.open.wait()
        if "bad" in items:
            raise psycopg.errors.NumericValueOutOfRange
        if "lost" in items:
            raise psycopg.errors.AdminShutdown
        self.groups.append(list(items))
        return [item.upper() for item in items]


async def submit_all(commits: GroupCommit[str, str], items: Sequence[str]) -> list[str | BaseException]:
    await commits.start()
    outcomes = await asyncio.gather(*(commits.submit(item) for item in items), return_exceptions=True)
    await commits.stop()
    return outcomes


def test_what_arrives_together_is_written_together() -> None:
    async def story() -> None:
        store = Store()
        commits = GroupCommit(store.write, size_of=len, writers=1)

        assert await submit_all(commits, ["a", "b", "c"]) == ["A", "B", "C"]
        assert store.groups == [["a", "b", "c"]]

    asyncio.run(story())


def test_one_bad_row_fails_alone() -> None:
    async def story() -> None:
        items = [f"item-{number}" for number in range(20)]
        items[7] = items[13] = "bad"

        outcomes = await submit_all(GroupCommit(Store().write, size_of=len, writers=1), items)

        refused = [place for place, outcome in enumerate(outcomes) if isinstance(outcome, RowRefused)]
        assert refused == [7, 13]
        assert sum(isinstance(outcome, str) for outcome in outcomes) == 18

    asyncio.run(story())


def test_of_a_lost_connection_nobody_knows_the_outcome() -> None:
    async def story() -> None:
        outcomes = await submit_all(GroupCommit(Store().write, size_of=len, writers=1), ["a", "lost", "b"])

        assert [type(outcome) for outcome in outcomes] == [OutcomeUnknown] * 3

    asyncio.run(story())


def test_a_full_door_refuses_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        store = Store()
        store.open.clear()
        commits = GroupCommit(store.write, size_of=len, writers=1, max_waiting=2)
        waiting = [asyncio.create_task(commits.submit(item)) for item in ("a", "b")]
        await asyncio.sleep(0)

        with pytest.raises(DoorFull):
            await commits.submit("c")
        store.open.set()
        await commits.start()
        assert await asyncio.gather(*waiting) == ["A", "B"]
        monkeypatch.setattr(group_commit, "MOST_WAITING_BYTES", 0)
        with pytest.raises(DoorFull):
            await commits.submit("d")
        await commits.stop()

    asyncio.run(story())


def test_a_caller_that_goes_away_takes_nobody_along() -> None:
    async def story() -> None:
        store = Store()
        store.open.clear()
        commits = GroupCommit(store.write, size_of=len, writers=1)
        leaving, staying = (asyncio.create_task(commits.submit(item)) for item in ("leaving", "staying"))
        await commits.start()
        await asyncio.sleep(0)
        leaving.cancel()
        store.open.set()

        assert await staying == "STAYING"
        assert store.groups == [["leaving", "staying"]]
        await commits.stop()

    asyncio.run(story())
