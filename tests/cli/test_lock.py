import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from broker_project.cli import lock
from broker_project.cli.lock import DataBusy, Holder

HOLD = """
import sys, time, pathlib
from broker_project.cli import lock
with lock.held(pathlib.Path(sys.argv[1]), "manage"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_lock_tells_who_holds_it_while_it_is_held(tmp_path: Path) -> None:
    assert lock.holder(tmp_path / "data") is None
    with lock.held(tmp_path / "data", "up"):
        assert lock.holder(tmp_path / "data") == Holder("up", os.getpid())
    assert lock.holder(tmp_path / "data") is None


def test_a_second_command_is_refused_and_a_killed_one_holds_nothing(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE)
    assert other.stdout
    assert other.stdout.readline() == b"held\n"
    with pytest.raises(DataBusy, match=rf"./broker manage \(pid {other.pid}\)"), lock.held(tmp_path, "up"):
        pass
    other.send_signal(signal.SIGKILL)
    other.wait()
    with lock.held(tmp_path, "up"):
        assert lock.holder(tmp_path) == Holder("up", os.getpid())
