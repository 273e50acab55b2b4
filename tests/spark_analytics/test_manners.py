"""Spark stands back behind what else runs on its machine."""

import json
import os
import subprocess
import sys

import pytest

from spark_analytics.errors import BadNiceness
from spark_analytics.manners import AUTOGROUP, of_session, said_by
from spark_analytics.settings import niceness

# Niceness of the last process that was named, and of its session.
ALONE = "stand_back(7); asked = psutil.Process()"
TWICE = "stand_back(9); stand_back(7); asked = psutil.Process()"
WITH_JAVA = """
from spark_analytics.session import open_session
open_session("manners")
[asked] = [child for child in psutil.Process().children(recursive=True) if child.name() == "java"]
"""
PROGRAM = """
import json, psutil
from spark_analytics.manners import of_session, stand_back
{acts}
print(json.dumps([asked.nice(), of_session()]))
"""
by_session = pytest.mark.skipif(not AUTOGROUP.exists(), reason="this kernel does not share a machine out by session")


def said(acts: str, *, leads: bool) -> list[int]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(acts=acts)],
        env=os.environ | {"SPARK_NICENESS": "7"},
        stdout=subprocess.PIPE,
        check=True,
        start_new_session=leads,
    )
    found: list[int] = json.loads(done.stdout.splitlines()[-1])
    return found


def at_least(number: int) -> int:
    """Tests may be run by somebody nice."""
    return max(number, os.getpriority(os.PRIO_PROCESS, 0))


@by_session
def test_a_session_of_its_own_stands_back_as_a_whole_java_with_it() -> None:
    assert said(WITH_JAVA, leads=True) == [at_least(7), 7]


@by_session
def test_somebodys_terminal_stays_as_it_is() -> None:
    assert said(ALONE, leads=False) == [at_least(7), of_session()]


@by_session
def test_who_stands_farther_back_stays_there() -> None:
    assert said(TWICE, leads=True) == [at_least(9), 9]


@pytest.mark.parametrize(("line", "meant"), [("/autogroup-12 nice 0\n", 0), ("/autogroup-7 nice -5\n", -5), ("", 0)])
def test_a_session_that_the_kernel_says_nothing_of_has_not_moved(line: str, meant: int) -> None:
    """Such is the first one: what runs in it never began another."""
    assert said_by(line) == meant


@pytest.mark.parametrize(("told", "meant"), [("", 10), ("0", 0), ("5", 5), ("25", 19), ("-5", 0)])
def test_how_far_is_never_ahead_of_traffic(monkeypatch: pytest.MonkeyPatch, told: str, meant: int) -> None:
    monkeypatch.setenv("SPARK_NICENESS", told)
    assert niceness() == meant


def test_what_is_no_number_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_NICENESS", "very")
    with pytest.raises(BadNiceness, match="whole number"):
        niceness()
