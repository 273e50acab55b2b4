"""Is a part well? For the health checks of Docker and Kubernetes: exits with 0 if it is.

    python deploy/probe.py progress dispatch     a worker or beat has done something in the last 30 seconds
    python deploy/probe.py moving dispatch       the same, unless nobody can say, as the database is away
    python deploy/probe.py http 8001 /path       a server answers 200
    python deploy/probe.py grpc 8003             the gRPC door serves

Nothing of the broker is imported: loading Django would cost more than most checks are worth.
"""

import http.client
import os
import sys
from collections.abc import Callable
from pathlib import Path

import grpc
import psycopg

# The row that a part touches every 5 seconds, which /readyz reads too. Workers of one queue share a row.
FRESH = "SELECT 1 FROM progress WHERE name = %s AND at > now() - interval '30 s'"
# {status: SERVING} as gRPC writes it.
SERVING = b"\x08\x01"


def progress(name: str) -> bool:
    """That a process merely answers would not show that work gets done."""
    with psycopg.connect(_database_url(), connect_timeout=5) as connection:
        return connection.execute(FRESH, [name]).fetchone() is not None


def moving(name: str) -> bool:
    """For who restarts what hangs: without a database nothing can move, and a restart would help nobody."""
    try:
        return progress(name)
    except psycopg.OperationalError:
        return True


def answers(port: str, path: str) -> bool:
    server = http.client.HTTPConnection("127.0.0.1", int(port), timeout=4)
    server.request("GET", path)
    return server.getresponse().status == 200


def serves(port: str) -> bool:
    ask = grpc.insecure_channel(f"127.0.0.1:{port}").unary_unary("/grpc.health.v1.Health/Check")
    return bool(ask(b"", timeout=4) == SERVING)


def _database_url() -> str:
    path = os.environ.get("DATABASE_URL_FILE")
    return Path(path).read_text().strip() if path else os.environ["DATABASE_URL"]


PROBES: dict[str, Callable[..., bool]] = {"progress": progress, "moving": moving, "http": answers, "grpc": serves}

if __name__ == "__main__":
    sys.exit(not PROBES[sys.argv[1]](*sys.argv[2:]))
