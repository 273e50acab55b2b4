"""One part and the process that is it now: started, listened to, started again when it dies, stopped with manners."""

import asyncio
import os
import threading
import time
from asyncio.subprocess import DEVNULL, STDOUT, Process
from collections.abc import Callable
from contextlib import suppress
from signal import SIGKILL, Signals

import psutil

from broker_project.cli import sessions
from broker_project.cli.backoff import next_wait
from broker_project.cli.launch import Launch
from broker_project.cli.output import Output
from broker_project.cli.state import PartState
from broker_project.lib.errors import BrokerError

# A part that dies this often before it was ever up will not come up by itself.
HOPELESS = 3
LONGEST_LINE = 64 * 1024


class PartFailed(BrokerError):
    """A part did not start."""


class Child:
    def __init__(self, launch: Launch, output: Output, changed: Callable[[], None]) -> None:
        self.state = PartState(launch.part.name, address=launch.address)
        self.part = launch.part
        self._launch = launch
        self._output = output
        self._changed = changed
        self._process: Process | None = None
        self._listener = threading.Thread()
        self._up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._life = asyncio.create_task(self._live())

    async def up(self, seconds: float) -> None:
        """Wait until it is up for the first time."""
        try:
            await asyncio.wait_for(asyncio.shield(self._up), seconds)
        except TimeoutError as error:
            raise self._failure(f"did not answer within {seconds:.0f} seconds") from error

    async def stop(self, hurry: asyncio.Event) -> None:
        """Ask it to end, in its own manners; then end it, and whatever it started."""
        self._life.cancel()
        if self._process and self._process.returncode is None:
            await self._ask_to_end(self._process, hurry)
        self.state.pid = None
        self._become("stopped")

    async def _live(self) -> None:
        wait = 0.0
        while True:
            born = time.monotonic()
            reason = await self._one_life()
            wait = next_wait(wait, time.monotonic() - born)
            self.state.restarts += 1
            self._give_up_if_hopeless(reason)
            self._output.event(f"{self.part.name} {reason}; starting it again in {wait:.1f} s")
            self._become("restarting")
            await asyncio.sleep(wait)

    async def _one_life(self) -> str:
        """From start to death; returns what it died of."""
        try:
            await asyncio.to_thread(self._launch.prepare)
            self._process = process = await self._start()
        except (BrokerError, OSError) as error:
            return f"did not start: {error}"
        becoming_up = asyncio.create_task(self._wait_until_up())
        try:
            code = await process.wait()
        finally:
            becoming_up.cancel()
        await _clear_up(process)
        # The last words are often the most telling ones; but an orphan may hold the pipe open.
        await asyncio.to_thread(self._listener.join, 1.0)
        return f"(pid {process.pid}) {_cause(code)}"

    async def _start(self) -> Process:
        # A pipe of our own: with one of asyncio's, wait() would wait for helpers that hold it open.
        reading, writing = os.pipe()
        self._listener = threading.Thread(target=self._listen, args=[reading], daemon=True)
        self._listener.start()
        try:
            process = await self._spawn(writing)
        finally:
            os.close(writing)
        self.state.pid, self.state.created = process.pid, _created(process.pid)
        self._become("starting")
        return process

    async def _spawn(self, output: int) -> Process:
        """In a session of its own: a Ctrl-C reaches only the manager, which stops the parts in order."""
        launch = self._launch
        return await asyncio.create_subprocess_exec(
            *launch.argv,
            stdin=DEVNULL,
            stdout=output,
            stderr=STDOUT,
            cwd=launch.cwd,
            env=launch.environment,
            start_new_session=True,
            **launch.run_as,
        )

    async def _wait_until_up(self) -> None:
        born = time.monotonic()
        while not await asyncio.to_thread(self._launch.ready, time.monotonic() - born):
            await asyncio.sleep(0.1)
        self._become("running")
        if not self._up.done():
            self._up.set_result(None)

    def _listen(self, reading: int) -> None:
        """In a thread, to the end of the pipe. A line that is too long is cut."""
        with open(reading, errors="replace") as pipe:
            for line in iter(lambda: pipe.readline(LONGEST_LINE), ""):
                self._output.line(self.part.name, line.rstrip("\r\n"))

    async def _ask_to_end(self, process: Process, hurry: asyncio.Event) -> None:
        for signal, seconds in self.part.manners:
            with suppress(ProcessLookupError):
                process.send_signal(signal)
            if await _ended(process, seconds, hurry):
                break
        await _clear_up(process)

    def _give_up_if_hopeless(self, reason: str) -> None:
        if self.state.restarts < HOPELESS or self._up.done():
            return
        self._become("failed")
        self._up.set_exception(self._failure(reason))

    def _failure(self, reason: str) -> PartFailed:
        return PartFailed(f"{self.part.name} {reason}. Its last words:\n{self._output.tail(self.part.name, 15)}")

    def _become(self, state: str) -> None:
        self.state.state, self.state.since = state, time.time()
        self._changed()


async def _ended(process: Process, seconds: float, hurry: asyncio.Event) -> bool:
    """True once it has ended; False when its time is up or somebody is in a hurry."""
    waits = [asyncio.create_task(process.wait()), asyncio.create_task(hurry.wait())]
    await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()
    return process.returncode is not None


async def _clear_up(process: Process) -> None:
    """Kill it, if it lives, and what it has started."""
    # Told at once: a thread that nobody waits for any more may never begin.
    sessions.tell(process.pid, SIGKILL)
    await process.wait()
    await asyncio.to_thread(sessions.kill, process.pid)


def _created(pid: int) -> float:
    try:
        return psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return 0.0


def _cause(code: int) -> str:
    return f"ended with exit code {code}" if code >= 0 else f"was killed by {Signals(-code).name}"
