"""up, down and restart."""

import argparse
import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from signal import SIGTERM

import psutil

from broker_project import embedded
from broker_project.cli import arguments, at_hand, background, leftovers, lock, ports, state
from broker_project.cli.manager import Manager
from broker_project.cli.output import Output
from broker_project.cli.parts import BY_NAME
from broker_project.cli.plan import LOOPBACK, Plan
from broker_project.cli.surroundings import data_dir, embedded_services
from broker_project.embedded.strays import ask_to_end
from broker_project.lib.errors import BrokerError

STOP_SECONDS = 120.0
RESTART_SECONDS = 90.0


class NotRunning(BrokerError):
    """The broker is not running. Start it with ./broker up."""


class NoSuchPart(BrokerError):
    """The broker has no part of this name."""


class TooSlow(BrokerError):
    """That did not happen in time. See ./broker logs manager."""


def add_to(commands: arguments.Commands) -> None:
    up = commands.add_parser("up", help="start the broker", description="Start the broker and everything it needs.")
    up.add_argument(
        "--port",
        type=arguments.port,
        default=8000,
        help="of the web server; Flower, echo and gRPC get the next three",
    )
    up.add_argument("--host", default=LOOPBACK, help="the address that the web server listens on")
    up.add_argument("--background", action="store_true", help="return when it is ready, and leave it running")
    up.add_argument("--verdict-to", type=int, metavar="FD", help=argparse.SUPPRESS)
    up.set_defaults(run=_up)
    down = commands.add_parser("down", help="stop the broker", description="Stop the broker and everything it started.")
    down.set_defaults(run=_down)
    restart = commands.add_parser(
        "restart",
        help="stop and start the broker or a part of it",
        description="Start again as it was started, or one part.",
    )
    restart.add_argument("name", nargs="?", help="of a part, as ./broker status shows it")
    restart.set_defaults(run=_restart)


def _up(options: argparse.Namespace) -> int:
    plan = Plan(data_dir(), options.host, options.port, options.background)
    if options.verdict_to is None:
        return _start(plan)
    pipe = background.Pipe(options.verdict_to)
    try:
        _manage(plan, pipe.succeed)
    except (BrokerError, OSError) as error:
        pipe.fail(arguments.explain(error))
        raise
    return 0


def _start(plan: Plan) -> int:
    holder = lock.holder(plan.data_dir)
    if holder and holder.command == "up":
        print(_runs_already(plan, holder))
    elif plan.background:
        print(background.start(plan))
    else:
        _manage(plan, print)
    return 0


def _manage(plan: Plan, ready: Callable[[str], None]) -> None:
    try:
        with lock.held(plan.data_dir, "up"):
            _run(plan, ready)
    except lock.DataBusy as busy:
        if busy.holder.command != "up":
            raise
        # Started between our look at the lock and now.
        ready(_runs_already(plan, busy.holder))


def _runs_already(plan: Plan, holder: lock.Holder) -> str:
    running = state.read(plan.data_dir)
    address = (running.plan if running else plan).web
    return (
        f"The broker is already running at {address} (pid {holder.pid}). It does not use what is set now, only what was"
        " set when it was started: ./broker down stops it."
    )


def _run(plan: Plan, ready: Callable[[str], None]) -> None:
    output = Output(plan.data_dir, terminal=not plan.background)
    for name in leftovers.stop(plan.data_dir):
        output.event(f"stopped {name}, which a crash had left")
    ports.check(plan.listens)
    with embedded.placed(plan.data_dir, embedded_services()) as services:
        urls = {embedded.VARIABLES[name]: service.url for name, service in services.items()}
        asyncio.run(Manager(replace(plan, urls=urls), services, output).run(ready))


def _down(_options: argparse.Namespace) -> int:
    print("The broker is stopped." if _stop(data_dir()) else "The broker is not running.")
    return 0


def _stop(directory: Path) -> bool:
    """Stop the broker, or what a crash left of it. False if there was nothing to stop."""
    holder = lock.holder(directory)
    if holder is None:
        return _stop_leftovers(directory)
    if holder.command != "up":
        raise lock.DataBusy(holder, directory)
    with suppress(psutil.NoSuchProcess):
        # Its end, not the lock's: until then it is still a process that was left running.
        if not ask_to_end([psutil.Process(holder.pid)], [(SIGTERM, STOP_SECONDS)]):
            raise TooSlow
    return True


def _stop_leftovers(directory: Path) -> bool:
    if not directory.exists():
        return False
    with lock.held(directory, "down"):
        found = leftovers.stop(directory)
        embedded.clear(directory)
        state.write_stopped(directory)
    return bool(found)


def _restart(options: argparse.Namespace) -> int:
    directory = data_dir()
    holder = lock.holder(directory)
    if holder is None or holder.command != "up":
        raise NotRunning
    if options.name:
        return _restart_part(directory, options.name)
    plan = at_hand.running_plan()
    _stop(directory)
    return _start(replace(plan, urls={}))


def _restart_part(directory: Path, name: str) -> int:
    """End its process; the manager notices and starts it again."""
    before = _part(directory, name)
    process = before.process()
    if process:
        leftovers.stop_process(process, BY_NAME[name].manners)
    _wait_for(
        lambda: _part(directory, name).pid != before.pid and _part(directory, name).state == "running", RESTART_SECONDS
    )
    print(f"{name} is running again (pid {_part(directory, name).pid}).")
    return 0


def _part(directory: Path, name: str) -> state.PartState:
    written = state.read(directory)
    parts = {part.name: part for part in written.parts} if written else {}
    if name not in parts:
        raise NoSuchPart(f"The broker has no part {name}. It has: {', '.join(parts)}.")
    return parts[name]


def _wait_for(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TooSlow
        time.sleep(0.1)
