"""The lake: a first export, one day more, a report over a month, and what an export costs the traffic beside it."""

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, LiteralString

import psycopg

from benchmarks import children
from benchmarks.bench import Bench
from benchmarks.beside import Act, traffic_during
from benchmarks.broker import WORKERS
from benchmarks.errors import NotMeasured
from benchmarks.figures import Figure, at_most, ratio_at_most
from benchmarks.scenarios.dead import moderate, traffic
from broker_project.cli.surroundings import TOP

JOBS: LiteralString = "SELECT count(*) FROM delivery_job"
NO_LAKE: LiteralString = "TRUNCATE lake_slice, lake_mark, lake_watermark"
# Of everybody but us who look.
LONGEST: LiteralString = """
SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::float8 FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
LOOK_SECONDS = 0.2


def run(bench: Bench) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="broker-lake-") as name:
        beside = _beside(bench, Path(name))
        few = _month(bench, Path(name) / "few", bench.size(420_000, 1_000))
        return [*_alone(bench, Path(name), few), *beside]


def _month(bench: Bench, directory: Path, messages: int) -> dict[str, float]:
    """A history that ends with the day before yesterday; then yesterday; then the report over all of it."""
    days, end = _days(bench), _midnight()
    bench.broker.wipe()
    bench.broker.database.execute(NO_LAKE)
    _manage(bench, *_history(messages, days, 1, end - timedelta(days=1)))
    jobs = bench.broker.value(JOBS)
    took = _lake(
        bench,
        directory,
        more=[sys.executable, "manage.py", *_history(messages // days, 1, 2, end), "--add"],
        start=(end - timedelta(days=days)).isoformat(),
        end=end.isoformat(),
    )
    return {**took, "jobs": float(jobs)}


def _days(bench: Bench) -> int:
    return bench.size(30, 2)


def _midnight() -> datetime:
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _alone(bench: Bench, directory: Path, few: dict[str, float]) -> list[Figure]:
    took = _month(bench, directory / "alone", bench.size(4_200_000, 10_000))
    cold = _cold_report(bench, directory / "alone", _midnight())
    return [
        Figure("lake, first export", "jobs/s", took["jobs"] / took["first"]),
        Figure("lake, first export, memory of Spark", "MiB", took["mib"], target=at_most(3 * 1024.0)),
        Figure("lake, one day more", "s", took["day"], took["first"], "30 days", ratio_at_most(0.1)),
        Figure("lake, report over 30 days, warm", "s", took["report"], target=at_most(5.0)),
        Figure("lake, the same, by jobs", "s", took["report"], few["report"], "a tenth of them", ratio_at_most(1.5)),
        Figure("lake, report over 30 days, cold", "s", cold, target=at_most(30.0)),
    ]


def _beside(bench: Bench, directory: Path) -> list[Figure]:
    """The same traffic twice: alone, and for as long as a history is exported."""
    per_second = moderate(bench)
    bench.broker.database.execute(NO_LAKE)
    _manage(bench, *_history(bench.size(1_000_000, 3_000), _days(bench), 1, datetime.now(UTC)))
    with bench.broker.running(*WORKERS):
        traffic(bench, "/ok/warm", per_second, seconds=bench.size(5.0, 1.0))
        alone, _ = traffic(bench, "/ok/alone", per_second, seconds=bench.size(30.0, 2.0))
        with _longest(bench) as longest:
            beside = traffic_during(bench, "/ok/beside", per_second, lambda: _export(bench, directory / "beside"))
    return [
        Figure("lake, traffic at 30 % beside an export, p99", "ms", beside.p99_ms, alone, "alone", ratio_at_most(2.0)),
        Figure("backlog left at the end of an export", "messages", beside.left, target=at_most(per_second)),
        Figure("lake, longest transaction during an export", "s", max(longest), target=at_most(10.0)),
    ]


@contextmanager
def _longest(bench: Bench) -> Iterator[list[float]]:
    found, stop = [0.001], threading.Event()

    def look() -> None:
        with psycopg.connect(bench.broker.plan.urls["DATABASE_URL"], autocommit=True) as connection:
            while not stop.wait(LOOK_SECONDS):
                found.append(float((connection.execute(LONGEST).fetchone() or (0.0,))[0]))

    watching = threading.Thread(target=look)
    watching.start()
    try:
        yield found
    finally:
        stop.set()
        watching.join()


def _lake(bench: Bench, directory: Path, **told: Any) -> dict[str, float]:
    asked = {"directory": str(directory / "report"), "more": None, "start": None, "end": None, **told}
    # Java compiles what is asked for often: a session is warm after some reports.
    asked["reports"] = bench.size(5, 1)
    found: dict[str, float] = children.ask("benchmarks.timers.lake", asked, _surroundings(bench, directory))
    return found


def _export(bench: Bench, directory: Path) -> Act[None]:
    """From when to when it was, Spark's start left out."""
    took = _lake(bench, directory)
    return Act(None, took["began"], took["ended"])


def _cold_report(bench: Bench, directory: Path, end: datetime) -> float:
    began = time.perf_counter()
    start = end - timedelta(days=_days(bench))
    words = ["report", "--from", start.isoformat(), "--to", end.isoformat(), "--out", str(directory / "cold")]
    _run(["-m", "spark_analytics", *words], _surroundings(bench, directory))
    return time.perf_counter() - began


def _surroundings(bench: Bench, directory: Path) -> dict[str, str]:
    return bench.broker.environment | {"LAKE_URL": str(directory / "lake")}


def _history(messages: int, days: int, seed: int, until: datetime) -> list[str]:
    asked = {"messages": messages, "days": days, "seed": seed, "until": f"{until:%Y-%m-%d}"}
    return ["make_history", *(f"--{name}={value}" for name, value in asked.items())]


def _manage(bench: Bench, *words: str) -> None:
    _run(["manage.py", *words], bench.broker.environment)


def _run(words: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, *words], cwd=TOP, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NotMeasured(f"{' '.join(words)} failed: {done.stderr[-500:]}")
