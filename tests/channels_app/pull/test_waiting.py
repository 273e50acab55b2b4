"""Hints from one process to another, by the real Redis."""

import asyncio

from channels_app.api.pull.waiting import hints, listen, told_to_end
from channels_app.delivery.work import Work
from channels_app.doorbell import ring_work


def test_a_web_process_hears_who_has_work() -> None:
    async def heard() -> list[int]:
        async def ring_until_heard() -> None:
            while True:
                ring_work(Work(pull=frozenset({7, 9})))
                await asyncio.sleep(0.05)

        ringing = asyncio.create_task(ring_until_heard())
        try:
            async with asyncio.timeout(30):
                return await anext(hints())
        finally:
            ringing.cancel()

    assert sorted(asyncio.run(heard())) == [7, 9]


def test_an_ear_that_is_told_to_end_while_it_connects_ends() -> None:
    async def end_at_every_moment() -> None:
        for moment in range(200):
            ear = asyncio.create_task(listen())
            await asyncio.sleep(moment % 50 / 5_000)
            async with asyncio.timeout(30):
                await told_to_end([ear])

    asyncio.run(end_at_every_moment())
