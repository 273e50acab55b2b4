"""Parts as processes by their names, and what a supervisor does: it starts again whoever died without being told."""

import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGQUIT, Signals

from broker_project.cli.launch import Launch
from tests.acceptance.servers import wait_until

SECONDS = 90.0
LOOK_SECONDS = 0.1


class Supervisor:
    """`on_death` is told of each part that was killed or fell over, before that part is started again."""

    def __init__(self, launches: dict[str, Launch], logs: Path, on_death: Callable[[str], None]) -> None:
        self._launches, self._logs, self._on_death = launches, logs, on_death
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._born: dict[str, float] = {}
        # Those that are dead because a test wants them so.
        self._told: set[str] = set()
        self._lock = threading.Lock()
        self._finished = threading.Event()
        self.fallen: list[str] = []

    def watch(self) -> None:
        threading.Thread(target=self._watch, name="supervisor", daemon=True).start()

    def start(self, *names: str) -> None:
        with self._lock:
            for name in names:
                self._start(name)
                self._told.discard(name)

    def restart(self, *names: str) -> None:
        """Start, and wait until they are up."""
        self.start(*names)
        self.wait_until_up(*names)

    def wait_until_up(self, *names: str) -> None:
        for name in names:
            wait_until(lambda: self._launches[name].ready(time.monotonic() - self._born[name]), SECONDS)  # noqa: B023

    def send(self, name: str, number: Signals) -> None:
        self._processes[name].send_signal(number)

    def end(self, name: str, number: Signals = SIGKILL) -> None:
        """Send the signal, wait for the end that it brings, and leave it so."""
        with self._lock:
            self._told.add(name)
        self.send(name, number)
        self._processes[name].wait(timeout=SECONDS)
        if number is SIGKILL:
            self._on_death(name)

    def pid(self, name: str) -> int:
        return self._processes[name].pid

    def finish(self) -> None:
        """Nothing is kept, so nobody is asked politely; only PostgreSQL has to clean up after itself."""
        self._finished.set()
        with self._lock:
            for name, process in reversed(self._processes.items()):
                process.send_signal(SIGCONT)
                process.send_signal(SIGQUIT if name == "postgres" else SIGKILL)
                process.wait(timeout=SECONDS)

    def _start(self, name: str) -> None:
        part = self._launches[name]
        part.prepare()
        with (self._logs / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                part.argv, env=part.environment, cwd=part.cwd, stdout=log, stderr=log, **part.run_as
            )
        self._born[name] = time.monotonic()

    def _watch(self) -> None:
        while not self._finished.wait(LOOK_SECONDS):
            with self._lock:
                for name in [name for name in self._processes if name not in self._told]:
                    self._raise(name)

    def _raise(self, name: str) -> None:
        if self._processes[name].poll() is None or self._finished.is_set():
            return
        self.fallen.append(name)
        self._on_death(name)
        self._start(name)
