"""The function that works on jobs, called the same way whether it is sync or async."""

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from broker_client.values import Job

Function = Callable[[Job], Any]


@dataclass(frozen=True)
class Handler:
    """A consumer of a channel, the function that is given its jobs, and how many at once."""

    channel: str
    consumer: str
    function: Function
    concurrency: int
    # Leased beyond those at work: quicker for short jobs, unfair for long ones.
    prefetch: int
    lease_seconds: float

    def __post_init__(self) -> None:
        if self.concurrency < 1 or self.prefetch < 0 or self.lease_seconds <= 0:
            raise ValueError("A consumer works on one job at least, and leases for longer than no time.")

    @property
    def room(self) -> int:
        return self.concurrency + self.prefetch

    def __call__(self, job: Job) -> Awaitable[Any]:
        if inspect.iscoroutinefunction(self.function):
            working: Awaitable[Any] = self.function(job)
            return working
        return _in_thread(self.function, job)


async def _in_thread(function: Function, job: Job) -> None:
    """In a daemon thread of its own: one that does not end must not keep the process from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            context.run(function, job)
        except BaseException as error:  # noqa: BLE001
            # Whatever it was is raised where it is waited for.
            _settle(loop, done, error)
        else:
            _settle(loop, done, None)

    threading.Thread(target=work, daemon=True, name=f"job-{job.id}").start()
    await done


def _settle(loop: asyncio.AbstractEventLoop, done: "asyncio.Future[None]", error: BaseException | None) -> None:
    def settle() -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(_raisable(error))

    # The loop is closed: the worker has ended meanwhile, and the job was given back.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(settle)


def _raisable(error: BaseException) -> BaseException:
    """A future does not take StopIteration, and an exit of a thread is no exit of the worker."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
