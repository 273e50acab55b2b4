"""How far a run is: steps that we count, and within a step what Spark says of its stages."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

from pyspark import SparkContext

LOOK_SECONDS = 0.3
BAR = 30
CLEAR = "\r\033[K"


@dataclass(frozen=True)
class Progress:
    """`share` from 0 to 1."""

    words: str
    share: float


Tell = Callable[[Progress], None]


class Meter:
    """Told from a thread of its own, as Spark may be busy for long; it never goes back."""

    def __init__(self, steps: int, tell: Tell) -> None:
        self._steps, self._tell = steps, tell
        self._done, self._words, self._best = 0, "starting Spark", 0.0
        self._context: SparkContext | None = None
        self._ended = threading.Event()
        self._saying = threading.Lock()

    def step(self, words: str) -> None:
        """One more was done before; steps may come from several threads."""
        with self._saying:
            self._done += self._words != "starting Spark"
            self._words = words
            self._say()

    def watch(self, context: SparkContext) -> None:
        self._context = context

    @contextmanager
    def running(self) -> Iterator["Meter"]:
        self._say_again()
        thread = threading.Thread(target=self._look, name="progress", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            thread.join()

    def finish(self) -> None:
        self._done, self._words = self._steps, "done"
        self._say_again()

    def _look(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            self._say_again()

    def _say_again(self) -> None:
        """One at a time: who listens must not hear the later share first."""
        with self._saying:
            self._say()

    def _say(self) -> None:
        within = stage_share(self._context) if self._context else 0.0
        self._best = max(self._best, min(1.0, (self._done + within) / self._steps))
        self._tell(Progress(self._words, self._best))


def stage_share(context: SparkContext) -> float:
    """Which part of the tasks of the stages under way is done. Between two jobs there are none."""
    tracker = context.statusTracker()
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    tasks = sum(stage.numTasks for stage in stages if stage)
    # Not all of it: another stage may come.
    return 0.9 * sum(stage.numCompletedTasks for stage in stages if stage) / tasks if tasks else 0.0


def bar(progress: Progress, out: TextIO = sys.stderr) -> None:
    """On a terminal a line that moves; elsewhere nothing, as nobody watches a file."""
    if not out.isatty():
        return
    full = round(BAR * progress.share)
    out.write(f"{CLEAR}[{'#' * full}{'.' * (BAR - full)}] {100 * progress.share:3.0f} % {progress.words}")
    if progress.words == "done":
        out.write("\n")
    out.flush()


def clear(out: TextIO = sys.stderr) -> None:
    """Before words that are to have the bar's line."""
    if out.isatty():
        out.write(CLEAR)
