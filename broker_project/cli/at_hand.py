"""PostgreSQL and Redis for one command: the running broker's, the user's own, or ours for as long as it takes."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from broker_project import embedded
from broker_project.cli import leftovers, lock, state
from broker_project.cli.parts import left_out
from broker_project.cli.plan import Plan
from broker_project.cli.surroundings import data_dir, embedded_services
from broker_project.lib.errors import BrokerError


class OtherServices(BrokerError):
    """The running broker uses a DATABASE_URL or REDIS_URL of its environment. Set it here too, or in .env."""


@contextmanager
def services(command: str) -> Iterator[Plan]:
    """Yields the plan of the running broker, or of one that is not there but for its services."""
    if _is_up():
        yield running_plan()
    elif not embedded_services():
        yield _last_plan()
    else:
        with own_services(command) as plan:
            yield plan


@contextmanager
def own_services(command: str) -> Iterator[Plan]:
    """Only while the broker is stopped, which it stays meanwhile."""
    with lock.held(data_dir(), command):
        leftovers.stop(data_dir())
        with embedded.services(data_dir(), embedded_services()) as urls:
            yield replace(_last_plan(), urls=urls)


def _last_plan() -> Plan:
    """Where the broker runs, or ran the last time."""
    written = state.read(data_dir())
    return written.plan if written else Plan(data_dir())


def running_plan() -> Plan:
    """Refused where this command would take other services than the running broker."""
    plan = _last_plan()
    if any(embedded.VARIABLES[name] not in plan.urls for name in embedded_services()):
        raise OtherServices
    return plan


def tell_what_was_left_out() -> None:
    """Of a broker that runs, by parts whose package has just been installed."""
    written = state.read(data_dir())
    if _is_up() and written and (names := left_out([part.name for part in written.parts])):
        print(f"broker: {', '.join(names)} does not run yet: ./broker restart starts it.", file=sys.stderr)


def _is_up() -> bool:
    holder = lock.holder(data_dir())
    return holder is not None and holder.command == "up"
