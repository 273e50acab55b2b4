"""A channel's open work: read now and then, reckoned in between."""

import asyncio
from dataclasses import dataclass

from scheduling_app.door.backlog import MAX_AGE_SECONDS, Backlog


@dataclass
class Counters:
    """What the counters say, how often they were asked, and what time it is."""

    open_work: int = 0
    readings: int = 0
    now: float = 0.0

    async def read(self, _channel_id: int) -> int:
        self.readings += 1
        await asyncio.sleep(0)
        return self.open_work

    def backlog(self) -> Backlog:
        return Backlog(self.read, lambda: self.now)


def test_what_was_let_in_counts_until_the_next_reading() -> None:
    counters = Counters(open_work=8)
    backlog = counters.backlog()

    async def story() -> None:
        assert [await backlog.admit(1, 10, 1) for _ in range(3)] == [True, True, False]
        counters.now += MAX_AGE_SECONDS
        assert await backlog.admit(1, 10, 1) is True

    asyncio.run(story())
    assert counters.readings == 2


def test_many_at_once_cost_one_reading_and_do_not_pass_the_cap() -> None:
    counters = Counters(open_work=5)
    backlog = counters.backlog()

    async def story() -> list[bool]:
        return await asyncio.gather(*(backlog.admit(1, 10, 1) for _ in range(20)))

    assert sum(asyncio.run(story())) == 5
    assert counters.readings == 1


def test_channels_are_counted_apart() -> None:
    backlog = Counters(open_work=9).backlog()

    async def story() -> None:
        assert [await backlog.admit(channel, 10, 1) for channel in (1, 1, 2)] == [True, False, True]

    asyncio.run(story())


def test_a_batch_is_let_in_while_there_is_any_room() -> None:
    backlog = Counters(open_work=9).backlog()

    async def story() -> None:
        assert [await backlog.admit(1, 10, 500) for _ in range(2)] == [True, False]

    asyncio.run(story())
