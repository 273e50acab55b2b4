"""The broker's processes on one screen. A new one is a line here."""

import os
from collections.abc import Collection
from dataclasses import dataclass, field
from importlib.util import find_spec
from signal import SIGINT, SIGQUIT, SIGTERM, Signals

from broker_project.cli.readiness import Ready, http2_answers, http_ok, lived, worker
from broker_project.lib.secret_files import is_given

# Signals with the seconds that each is given; after the last, SIGKILL.
Manners = tuple[tuple[Signals, float], ...]
TERM: Manners = ((SIGTERM, 15.0),)
# A worker finishes what it does; then it gets a few seconds to give back what it cannot finish.
WORKER: Manners = ((SIGTERM, 10.0), (SIGQUIT, 8.0))
# PostgreSQL's fast shutdown, then its immediate one.
FAST: Manners = ((SIGINT, 30.0), (SIGQUIT, 5.0))

CELERY = "-m celery -A broker_project"
WORKS = "-P threads -E --loglevel INFO --without-mingle --without-gossip"


@dataclass(frozen=True)
class Part:
    name: str
    # Parts stop in this order, equals together: first whoever brings in work, last whoever keeps it.
    stops: int
    manners: Manners
    # The arguments of python, the address that is shown, the sign that it is up. {names} are filled in by launch.py.
    command: str = ""
    address: str = ""
    ready: Ready = field(default=lived(0.0))
    # False: it may start while the database is still being prepared.
    needs_tables: bool = True
    # A package that not every installation has: without it the part is left out.
    package: str = ""
    # A variable that it cannot go together with: where that is set, the part is left out.
    unless: str = ""

    @property
    def is_installed(self) -> bool:
        return (not self.package or find_spec(self.package) is not None) and not is_given(self.unless, os.environ)


PARTS = (
    Part("beat", 1, TERM, f"{CELERY} beat --loglevel INFO --pidfile=", ready=lived(2.0)),
    Part("web", 1, TERM, "-m broker_project.web --host {host} --port {port}", "{web}", http_ok("{web}/healthz")),
    # Streams end by themselves once their last answers are in, in five seconds at most.
    Part("grpc", 1, TERM, "-m broker_project.grpc_server --host {host} --port {grpc_port}", "{grpc}",
         http2_answers("{grpc}"), unless="GATEWAY_SECRETS"),
    Part("flower", 1, TERM, "-m broker_project.flower --address=127.0.0.1 --port={flower_port}", "{flower}",
         http_ok("{flower}/healthcheck"), needs_tables=False),
    Part("worker-dispatch", 2, WORKER, f"{CELERY} worker {WORKS} -Q dispatch -c 8 -n dispatch-{{node}}",
         ready=worker("dispatch")),
    Part("worker-delivery", 2, WORKER, f"{CELERY} worker {WORKS} -Q delivery -c 8 -n delivery-{{node}}",
         ready=worker("delivery")),
    # The second core: one process delivers about as fast as one core lets it.
    Part("worker-delivery-2", 2, WORKER, f"{CELERY} worker {WORKS} -Q delivery -c 8 -n delivery-2-{{node}}",
         ready=worker("delivery-2")),
    # One report at a time; the second thread is for the bells meanwhile.
    Part("worker-reports", 2, WORKER, f"{CELERY} worker {WORKS} -Q reports -c 2 -n reports-{{node}}",
         ready=worker("reports"), package="pyspark"),
    Part("echo", 3, TERM, "-m broker_project.echo --port {echo_port}", "{echo}", http_ok("{echo}"), needs_tables=False),
    # broker_project.embedded brings the commands of these two. They start before the others.
    Part("redis", 4, TERM),
    Part("postgres", 5, FAST),
)  # fmt: skip


def left_out(started: Collection[str]) -> list[str]:
    """Of a running broker: parts whose package came after its start."""
    return [part.name for part in PARTS if part.package and part.is_installed and part.name not in started]


BY_NAME = {part.name: part for part in PARTS}
