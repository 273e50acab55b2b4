"""Programs that share the terminal with ./broker."""

import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path


def run(command: list[str], environment: Mapping[str, str], cwd: Path | None = None) -> int:
    """Run it to its own end; returns its exit code, in a shell's way of counting.

    A Ctrl-C is meant for it: a shell goes on, pytest tears its fixtures down. A handler, unlike SIG_IGN, is not
    handed on to it.
    """
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        code = subprocess.call(command, env=environment, cwd=cwd)
    finally:
        signal.signal(signal.SIGINT, before)
    return code if code >= 0 else 128 - code
