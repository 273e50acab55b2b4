"""Hints from one process to another, by the real Redis."""

import asyncio

from channels_app.api.pull.waiting import hints
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
