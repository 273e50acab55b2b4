"""Children are real processes here: they die, refuse to die, and leave helpers behind."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from broker_project.cli.child import Child, PartFailed
from broker_project.cli.launch import Launch
from broker_project.cli.output import Output
from broker_project.cli.parts import Manners, Part
from tests.acceptance.running import is_alive

TERM: Manners = ((signal.SIGTERM, 10.0),)
SLEEP = "import time; print('up', flush=True); time.sleep(60)"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEP}"
# Its helper holds on to the same pipe, and may be of another group.
HELPER = f"import subprocess; print(subprocess.Popen(['sleep', '60'], process_group=%s).pid); {SLEEP}"


def launch(script: str, log: Path, manners: Manners = TERM) -> Launch:
    def says_up(_lived: float) -> bool:
        return log.exists() and "up\n" in log.read_text()

    part = Part("sleeper", 1, manners)
    return Launch(part, [sys.executable, "-u", "-c", script], dict(os.environ), "", Path("/"), ready=says_up)


def lived_by(child_of: Launch, data_dir: Path, story: Callable[[Child], Awaitable[None]]) -> Child:
    """Tell the story of a child from its first process to its orderly end."""

    async def tell() -> Child:
        child = Child(child_of, Output(data_dir, terminal=False), lambda: None)
        try:
            await story(child)
        finally:
            await child.stop(asyncio.Event())
        return child

    return asyncio.run(tell())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("group", [None, 0], ids=["same group", "own group"])
def test_a_killed_child_gets_a_new_process_and_its_old_session_is_gone(tmp_path: Path, group: int | None) -> None:
    log = tmp_path / "logs/sleeper.log"

    async def story(child: Child) -> None:
        await child.up(20)
        first, helper = child.state.pid, int(log.read_text().split()[0])
        assert first
        os.kill(first, signal.SIGKILL)
        await until(lambda: child.state.state == "running" and child.state.pid != first)
        assert not is_alive(helper)

    child = lived_by(launch(HELPER % group, log), tmp_path, story)
    assert (child.state.restarts, child.state.state, child.state.pid) == (1, "stopped", None)
    assert "was killed by SIGKILL; starting it again in 0.2 s" in (tmp_path / "logs/manager.log").read_text()
    assert [pid for pid in map(int, filter(str.isdigit, log.read_text().split())) if is_alive(pid)] == []


def test_a_child_that_does_not_listen_is_ended_after_its_grace(tmp_path: Path) -> None:
    pids = []

    async def story(child: Child) -> None:
        await child.up(20)
        pids.append(child.state.pid or 0)

    deaf = launch(DEAF, tmp_path / "logs/sleeper.log", manners=((signal.SIGTERM, 0.2),))
    lived_by(deaf, tmp_path, story)
    assert not is_alive(pids[0])


def test_a_child_that_never_comes_up_is_given_up_with_its_last_words(tmp_path: Path) -> None:
    async def story(child: Child) -> None:
        with pytest.raises(PartFailed, match=r"ended with exit code 3\. Its last words:\nI cannot"):
            await child.up(20)

    failing = launch("print('I cannot'); raise SystemExit(3)", tmp_path / "logs/sleeper.log")
    lived_by(failing, tmp_path, story)


def test_a_child_that_does_not_answer_in_time_is_not_waited_for(tmp_path: Path) -> None:
    async def story(child: Child) -> None:
        with pytest.raises(PartFailed, match="did not answer within 0 seconds"):
            await child.up(0.3)

    lived_by(launch("import time; time.sleep(60)", tmp_path / "none"), tmp_path, story)


def test_a_program_that_is_not_there_is_a_failure_like_any_other(tmp_path: Path) -> None:
    async def story(child: Child) -> None:
        with pytest.raises(PartFailed, match="did not start"):
            await child.up(20)

    missing = replace(launch("", tmp_path / "none"), argv=["/no/such/program"])
    lived_by(missing, tmp_path, story)


def test_a_line_without_an_end_is_cut_and_the_rest_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "logs/sleeper.log"
    long = launch(f"print('x' * 200_000); print('up', flush=True); {SLEEP}", log)

    async def story(child: Child) -> None:
        await child.up(20)

    lived_by(long, tmp_path, story)
    lines = log.read_text().splitlines()
    assert sum(map(len, lines)) >= 200_000
    assert max(map(len, lines)) <= 64 * 1024


def test_the_process_written_down_can_be_found_again(tmp_path: Path) -> None:
    found = []

    async def story(child: Child) -> None:
        await child.up(20)
        found.append((child.state.process(), child.state.pid))

    lived_by(launch(SLEEP, tmp_path / "logs/sleeper.log"), tmp_path, story)
    process, pid = found[0]
    assert isinstance(process, psutil.Process)
    assert process.pid == pid
