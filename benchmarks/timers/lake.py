"""Times the lake in one warm session: a first export, a day more, a report; and how much memory all of it took."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from broker_project.cli.surroundings import TOP
from spark_analytics.asked import Asked
from spark_analytics.lake.export import export
from spark_analytics.run import run
from spark_analytics.session import open_session
from spark_analytics.settings import from_environment

LOOK_SECONDS = 0.2
MIB = 2**20


class Memory:
    """The most that this process and its children had at once: Spark's JVM, and the Pythons that read for it.

    What processes share counts once: Spark's Pythons are forks of one.
    """

    def __init__(self) -> None:
        self.most_bytes = 0
        self._over = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def end(self) -> float:
        """In MiB. To look takes time, which is not to be a report's."""
        self._over.set()
        return self.most_bytes / MIB

    def _watch(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            self.most_bytes = max(self.most_bytes, sum(map(_proportional, _family())))


def main(told: dict[str, Any]) -> None:
    memory, directory = Memory(), Path(told["directory"])
    found: dict[str, float] = {"session": _timed(lambda: open_session("bench"))}
    # By a clock that all processes of a machine share: others ask what happened meanwhile.
    found["began"] = time.monotonic()
    found["first"] = _timed(_export)
    found["ended"] = time.monotonic()
    found["mib"] = memory.end()
    if told["more"]:
        subprocess.run(told["more"], cwd=TOP, check=True, capture_output=True)
        found["day"] = _timed(_export)
    if told["start"]:
        asked = Asked.between(datetime.fromisoformat(told["start"]), datetime.fromisoformat(told["end"]))
        found["report"] = min(_timed(lambda: _report(asked, directory)) for _ in range(told["reports"]))
    print(json.dumps(found))


def _export() -> None:
    for _ in export(open_session(), from_environment(), everything=True, now=datetime.now(UTC)):
        pass


def _report(asked: Asked, directory: Path) -> None:
    run(asked, directory, lambda _progress: None, compares=False)


def _timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def _family() -> list[psutil.Process]:
    own = psutil.Process(os.getpid())
    return [own, *own.children(recursive=True)]


def _proportional(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
