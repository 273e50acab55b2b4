"""The process manager: brings the parts up in order, keeps them up, and takes them down in order."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from itertools import groupby
from signal import SIGHUP, SIGINT, SIGTERM

from broker_project.cli import launch, state
from broker_project.cli.child import Child
from broker_project.cli.launch import Launch
from broker_project.cli.output import Output
from broker_project.cli.parts import PARTS
from broker_project.cli.plan import Plan
from broker_project.cli.prepare import prepare
from broker_project.cli.welcome import write as write_welcome
from broker_project.embedded import Service
from broker_project.lib.errors import BrokerError

START_SECONDS = 90.0


class StoppedEarly(BrokerError):
    """The broker was stopped before it was ready."""


class Manager:
    """Lives as long as the broker does. Whoever runs it holds the lock of the data directory."""

    def __init__(self, plan: Plan, services: dict[str, Service], output: Output) -> None:
        self._plan = plan
        self._services = services
        self._output = output
        self._children: list[Child] = []
        self._is_ready = False
        self._stop = asyncio.Event()
        self._hurry = asyncio.Event()

    async def run(self, ready: Callable[[str], None]) -> None:
        """Until a signal says stop. `ready` gets the welcome, which holds secrets and is not logged."""
        for signal in (SIGINT, SIGTERM, SIGHUP):
            asyncio.get_running_loop().add_signal_handler(signal, self._on_signal)
        try:
            await self._unless_stopped(self._bring_up(ready))
            await self._stop.wait()
        finally:
            await self._take_down()

    async def _bring_up(self, ready: Callable[[str], None]) -> None:
        self._output.event(f"starting at {self._plan.web}")
        self._record()
        services = [launch.of_service(name, service, self._plan) for name, service in self._services.items()]
        # Here a refusal (another version's data, a full disk) ends the start; later a child tries again.
        await asyncio.gather(*(asyncio.to_thread(service.prepare) for service in services))
        await self._start(services)
        _, prepared = await asyncio.gather(
            self._start(self._parts(needs_tables=False)), prepare(self._plan.environment())
        )
        await self._start(self._parts(needs_tables=True))
        self._output.event(f"ready at {self._plan.web}")
        self._is_ready = True
        self._record()
        ready(write_welcome(self._plan, prepared))

    def _parts(self, *, needs_tables: bool) -> list[Launch]:
        chosen = [part for part in PARTS if part.command and part.needs_tables == needs_tables]
        return [launch.of_part(part, self._plan) for part in chosen if part.is_installed]

    async def _start(self, launches: list[Launch]) -> None:
        """Together; returns when all of them are up."""
        children = [Child(each, self._output, self._record) for each in launches]
        self._children += children
        await asyncio.gather(*(child.up(START_SECONDS) for child in children))

    async def _take_down(self) -> None:
        for _, equals in groupby(sorted(self._children, key=_order), key=_order):
            await asyncio.gather(*(child.stop(self._hurry) for child in equals))
        self._record()
        self._output.event("stopped")

    async def _unless_stopped(self, work: Coroutine[None, None, None]) -> None:
        stopped = asyncio.create_task(self._stop.wait())
        working = asyncio.create_task(work)
        await asyncio.wait({stopped, working}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if working.done():
            return working.result()
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
        raise StoppedEarly

    def _on_signal(self) -> None:
        """The first asks for an orderly end, the second for a quick one."""
        if self._stop.is_set():
            self._output.event("hurrying")
            self._hurry.set()
        else:
            self._output.event("stopping")
            self._stop.set()

    def _record(self) -> None:
        try:
            state.write(state.of(self._plan, [child.state for child in self._children], ready=self._is_ready))
        except OSError as error:
            # A full disk must not take the broker down; the next change is written again.
            self._output.event(f"state.json could not be written: {error}")


def _order(child: Child) -> int:
    return child.part.stops
