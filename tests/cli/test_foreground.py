"""Programs that ./broker starts on a terminal: who hears its keys, and what is left of them."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from broker_project.cli import foreground
from tests.acceptance.running import is_alive
from tests.acceptance.servers import ROOT, wait_until

# What ./broker is here: it only runs a program, in a way that is named.
RUNNER = """
import os, sys
from broker_project.cli import foreground
foreground.GRACE_SECONDS = 1.0
sys.exit(getattr(foreground, sys.argv[1])([sys.executable, "-c", sys.argv[2]], os.environ))
"""
ON_A_TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
# Java as PySpark starts it: no Ctrl-C is for it, and it ends when its Python has.
WITH_JAVA = """
import json, os, signal, subprocess, sys, time
deaf = lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)
java = subprocess.Popen(["cat"], stdin=subprocess.PIPE, preexec_fn=deaf)
print(json.dumps([os.getpid(), java.pid, os.getsid(0), sys.stderr.isatty()]), flush=True)
time.sleep(60)
"""
# Spark's own Python is of the session, but of no group that is told.
STUBBORN = """
import json, os, subprocess, sys, time
deaf = "import os, signal, time; os.setpgid(0, 0); signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
helper = subprocess.Popen([sys.executable, "-c", deaf])
while os.getpgid(helper.pid) != helper.pid: time.sleep(0.01)
print(json.dumps([os.getpid(), helper.pid, os.getsid(0), False]), flush=True)
time.sleep(60)
"""
SAYS_ITS_SESSION = "import os; raise SystemExit(3 if os.getsid(0) == os.getpid() else 4)"


@contextmanager
def runner(way: str, program: str, *before: str) -> Iterator["subprocess.Popen[str]"]:
    command = [*before, sys.executable, "-c", RUNNER, way, program]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        yield started
        started.kill()


@pytest.mark.parametrize(("way", "code"), [("run", 4), ("run_in_own_session", 3)])
def test_who_needs_the_terminal_stays_in_its_session_and_codes_come_back(way: str, code: int) -> None:
    with runner(way, SAYS_ITS_SESSION) as started:
        assert started.wait(30) == code


@pytest.mark.parametrize("number", foreground.ENDINGS)
def test_what_ends_us_ends_all_of_a_session_of_its_own(number: int) -> None:
    with runner("run_in_own_session", WITH_JAVA) as started:
        assert started.stdout
        python, java, session, _ = json.loads(started.stdout.readline())
        assert session == python
        started.send_signal(number)
        assert started.wait(30) == 128 + number
        assert not is_alive(python)
        assert not is_alive(java)


def test_who_does_not_listen_is_killed_also_out_of_a_group_of_its_own() -> None:
    with runner("run_in_own_session", STUBBORN) as started:
        assert started.stdout
        python, helper, *_ = json.loads(started.stdout.readline())
        started.terminate()
        assert started.wait(30) == 128 + signal.SIGTERM
        assert not is_alive(python)
        assert not is_alive(helper)


def test_on_a_terminal_a_ctrl_c_ends_it_and_it_sees_that_somebody_watches() -> None:
    with runner("run_in_own_session", WITH_JAVA, sys.executable, "-c", ON_A_TERMINAL) as started:
        assert started.stdout
        assert started.stdin
        python, java, _, watched = json.loads(started.stdout.readline())
        assert watched
        started.stdin.write("\x03")
        started.stdin.flush()
        assert started.wait(30) == 130
        assert not is_alive(python)
        assert not is_alive(java)


def test_a_ctrl_z_stops_it_with_us_and_it_goes_on_with_us() -> None:
    with runner("run_in_own_session", WITH_JAVA) as started:
        assert started.stdout
        both = [psutil.Process(started.pid), psutil.Process(json.loads(started.stdout.readline())[0])]
        started.send_signal(signal.SIGTSTP)
        wait_until(lambda: all(one.status() == psutil.STATUS_STOPPED for one in both), 20)
        started.send_signal(signal.SIGCONT)
        wait_until(lambda: all(one.status() != psutil.STATUS_STOPPED for one in both), 20)
        started.terminate()
        assert started.wait(30) == 128 + signal.SIGTERM
