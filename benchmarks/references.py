"""What the same machine does without a broker, in the same run: bare inserts, a bare COPY, a bare HTTP client."""

import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import LiteralString

from benchmarks import children
from benchmarks.broker import Broker
from benchmarks.errors import NotMeasured
from benchmarks.prepared import PAYLOAD
from benchmarks.receivers import Receiver
from broker_project.cli.database import Database
from broker_project.embedded import places
from broker_project.embedded.account import caller

CLIENTS = 32
# As many posts under way as a push consumer has by default.
POSTS = 100
COLUMNS: LiteralString = (
    "channel_id, producer_id, message_id, payload, content_type, priority, headers, status, received_at"
)
MAKE = (
    "DROP TABLE IF EXISTS bare_message; CREATE TABLE bare_message (LIKE message INCLUDING ALL);"
    "CREATE UNIQUE INDEX ON bare_message (channel_id, message_id)"
)
INSERT = f"""\\set id random(1, 1000000000000000000)
INSERT INTO bare_message ({COLUMNS})
VALUES (1, 1, 'm-' || :id, '{PAYLOAD.decode()}', 'application/json', 0, '{{}}', 100, now());
"""  # noqa: S608
TPS = re.compile(r"tps = ([0-9.]+)")


def inserts_per_second(broker: Broker, seconds: float) -> float:
    """pgbench: one row a transaction, with the columns and indexes of `message`, without its triggers."""
    with _bare_table(broker), tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(INSERT)
        script.flush()
        said = _pgbench(broker, "-f", script.name, "-T", str(max(1, round(seconds))))
    found = TPS.search(said)
    if not found:
        raise NotMeasured(f"pgbench said no rate:\n{said}")
    return float(found[1])


def copied_per_second(broker: Broker, rows: int) -> float:
    """One COPY of so many rows, its bytes made before the clock starts."""
    escaped = PAYLOAD.hex()
    lines = (f"1\t1\tm-{n}\t\\\\x{escaped}\tapplication/json\t0\t{{}}\t100\tnow\n" for n in range(rows))
    text = "".join(lines).encode()
    with _bare_table(broker), broker.database.cursor() as cursor:
        began = time.perf_counter()
        with cursor.copy(f"COPY bare_message ({COLUMNS}) FROM STDIN") as copy:
            copy.write(text)
        return rows / (time.perf_counter() - began)


def posts_per_second(broker: Broker, receiver: Receiver, posts: int) -> float:
    """The broker's own HTTP session posting the same body to the same receiver, without a broker."""
    told = {"url": receiver.url("/ok/bare"), "posts": posts, "at_once": POSTS, "body": PAYLOAD.decode()}
    return posts / children.ask("benchmarks.timers.http_client", told, broker.environment)["seconds"]


@contextmanager
def _bare_table(broker: Broker) -> Iterator[None]:
    broker.database.execute(MAKE)
    try:
        yield
    finally:
        broker.database.execute("DROP TABLE bare_message")


def _pgbench(broker: Broker, *words: str) -> str:
    database = Database(broker.plan.urls["DATABASE_URL"])
    program = places.postgres_programs(caller()) / "pgbench"
    command = [str(program), "-n", "-M", "prepared", "-c", str(CLIENTS), "-j", "2", *words, database.address]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=database.environment, cwd=Path("/"))
    if done.returncode:
        raise NotMeasured(f"pgbench failed:\n{done.stderr.strip()}")
    return done.stdout
