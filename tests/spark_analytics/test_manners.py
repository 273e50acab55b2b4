"""Spark stands back behind what else the machine does."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from spark_analytics.manners import stand_back

# Two threads that start a process each when they are told to. Each of those says in one write how nice it is: both
# write to the same pipe.
PROGRAM = """
import subprocess, sys, threading
told = threading.Barrier(3)
def start():
    told.wait()
    subprocess.run([sys.executable, "-c", "import os; os.write(1, b'%d ' % os.nice(0))"])
threads = [threading.Thread(target=start) for _ in range(2)]
for thread in threads: thread.start()
print("ready", flush=True)
sys.stdin.readline()
told.wait()
for thread in threads: thread.join()
"""


@pytest.fixture
def program() -> Iterator["subprocess.Popen[str]"]:
    words = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def test_what_the_threads_of_a_process_start_stands_back_too(program: "subprocess.Popen[str]") -> None:
    stand_back(program.pid, os.nice(0) + 3)
    said, _ = program.communicate("\n")
    assert said.split() == [str(os.nice(0) + 3)] * 2


def test_who_stands_back_further_stays_there(program: "subprocess.Popen[str]") -> None:
    stand_back(program.pid, os.nice(0) + 5)
    stand_back(program.pid, os.nice(0) + 2)
    said, _ = program.communicate("\n")
    assert said.split() == [str(os.nice(0) + 5)] * 2


def test_a_process_that_is_gone_is_left_alone(program: "subprocess.Popen[str]") -> None:
    program.communicate("\n")
    stand_back(program.pid, 5)
