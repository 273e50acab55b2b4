"""One outcome that cannot be written never costs its neighbours."""

import asyncio

from psycopg import DataError

from channels_app.delivery.claim import Job
from channels_app.delivery.retry import Outcome
from channels_app.delivery.settle import Settled
from channels_app.delivery.settler import Settler
from tests.channels_app.delivery.test_turn import target

BAD = (3, 6)


def settled(number: int) -> Settled:
    job = Job(number, 1, 0, 0, f"m{number}", b"x", "text/plain", {}, is_expired=False)
    return Settled.of(target(), job, Outcome(reason=None))


def test_a_batch_with_bad_rows_is_halved_until_they_stand_alone() -> None:
    written: list[int] = []
    released: list[int] = []

    async def write(batch: list[Settled]) -> None:
        ids = [one.job.job_id for one in batch]
        if set(ids) & set(BAD):
            raise DataError
        written.extend(ids)

    async def run() -> None:
        settler = Settler(write, lambda batch: released.extend(one.job.job_id for one in batch))
        for number in range(1, 9):
            settler.put(settled(number))
        await settler.stop()

    asyncio.run(run())

    assert written == [1, 2, 4, 5, 7, 8]
    assert released == [1, 2, 3, 4, 5, 6, 7, 8]
