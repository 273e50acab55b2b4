"""Programs that share the terminal with ./broker."""

import os
import signal
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from broker_project.cli import sessions

# From a terminal's keys, from a terminal that is closed, from elsewhere.
ENDINGS = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM)
GRACE_SECONDS = 10.0


def run(command: list[str], environment: Mapping[str, str], cwd: Path | None = None) -> int:
    """Run it to its own end; returns its exit code, in a shell's way of counting.

    A Ctrl-C is meant for it: a shell goes on, pytest tears its fixtures down. A handler, unlike SIG_IGN, is not
    handed on to it.
    """
    with _handled([signal.SIGINT], lambda _: None):
        return _as_a_shell_says(subprocess.call(command, env=environment, cwd=cwd))


def run_in_own_session(command: list[str], environment: Mapping[str, str]) -> int:
    """As `run`, but what only writes to the terminal: so it can stand back behind traffic as a whole.

    There the terminal's signals do not reach it: they are handed on. Nothing of it is left afterwards.
    """
    early: list[int] = []
    with _handled(ENDINGS, early.append):
        session = subprocess.Popen(command, env=environment, start_new_session=True)
        tell = partial(sessions.tell, session.pid)
        with _handled(ENDINGS, tell), _handled([signal.SIGTSTP], lambda _: _pause(tell)):
            for number in early:
                tell(number)
            code = session.wait()
            # Java clears up and ends a moment after its Python, but not if that was interrupted while Java started.
            sessions.see_out(session.pid, GRACE_SECONDS)
    return _as_a_shell_says(code)


@contextmanager
def _handled(numbers: Collection[int], act: Callable[[int], object]) -> Iterator[None]:
    before = {number: signal.signal(number, lambda number, _frame: act(number)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _as_a_shell_says(code: int) -> int:
    return code if code >= 0 else 128 - code


def _pause(tell: Callable[[int], None]) -> None:
    """A Ctrl-Z: no shell knows of that session, so it stops with us and goes on with us."""
    tell(signal.SIGSTOP)
    os.kill(os.getpid(), signal.SIGSTOP)
    tell(signal.SIGCONT)
