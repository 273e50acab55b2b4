"""What the engine does to jobs, by its own steps, for cases about what flows."""

from collections.abc import Sequence

from psycopg import AsyncConnection

from channels_app.delivery.claim import Job, claim
from channels_app.delivery.retry import Outcome
from channels_app.delivery.settle import Settled, settle
from channels_app.delivery.target import Target
from channels_app.models import Consumer
from channels_app.reasons import Reason
from tests.channels_app.delivery.rows import on_a_loop
from tests.channels_app.delivery.test_turn import target

OK = Outcome(reason=None, status_code=200)
FAILED = Outcome(reason=Reason.HTTP_5XX, status_code=503)
DROPPED = Outcome(reason=Reason.HTTP_4XX, status_code=400, dropped=True)
RELEASED = Outcome(reason=None, released=True)
EXPIRED = Outcome(reason=Reason.EXPIRED)


def try_jobs(consumer: Consumer, *outcomes: Outcome, half_open: bool = False) -> int:
    """Claims as many as there are outcomes, and settles them in this order; says how many there were."""
    aim = target(consumer_id=consumer.pk, breaker="half_open" if half_open else "closed")

    async def run(own: AsyncConnection) -> int:
        jobs = (await claim(own, aim, most=len(outcomes))).jobs
        return len(await settle(own, _settled(aim, jobs, outcomes)))

    return on_a_loop(run)


def take_jobs(consumer: Consumer, most: int) -> int:
    """Claims some, and is lost with them."""

    async def run(own: AsyncConnection) -> int:
        return len((await claim(own, target(consumer_id=consumer.pk), most=most)).jobs)

    return on_a_loop(run)


def _settled(aim: Target, jobs: Sequence[Job], outcomes: Sequence[Outcome]) -> list[Settled]:
    return [Settled.of(aim, job, outcome) for job, outcome in zip(jobs, outcomes, strict=False)]
