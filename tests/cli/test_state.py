import os
import stat
from pathlib import Path

import psutil
import pytest

from broker_project.cli import at_hand, lock, state
from broker_project.cli.plan import Plan
from broker_project.cli.state import PartState


def write(data_dir: Path, **part: object) -> None:
    state.write(state.of(Plan(data_dir, port=9000), [PartState("web", **part)], ready=True))  # type: ignore[arg-type]


def test_what_is_written_is_read_and_is_the_owners_alone(tmp_path: Path) -> None:
    write(tmp_path, state="running", pid=5, restarts=2)
    written = state.read(tmp_path)
    assert written
    assert (written.plan, written.pid, written.was_running) == (Plan(tmp_path, port=9000), os.getpid(), True)
    assert written.parts == [PartState("web", "running", 5, restarts=2)]
    assert stat.S_IMODE((tmp_path / "state.json").stat().st_mode) == 0o600


def test_a_running_broker_is_told_to_restart_for_parts_that_were_installed_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BROKER_DATA_DIR", str(tmp_path))
    write(tmp_path, state="running")
    at_hand.tell_what_was_left_out()
    assert capsys.readouterr().err == ""
    with lock.held(tmp_path, "up"):
        at_hand.tell_what_was_left_out()
    assert "worker-reports does not run yet: ./broker restart" in capsys.readouterr().err


def test_a_broker_that_was_stopped_was_not_running(tmp_path: Path) -> None:
    write(tmp_path, state="stopped")
    written = state.read(tmp_path)
    assert written
    assert not written.was_running


def test_the_state_in_a_copied_directory_is_anothers(tmp_path: Path) -> None:
    write(tmp_path)
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "state.json").write_bytes((tmp_path / "state.json").read_bytes())
    assert state.read(copy) is None


def test_a_file_that_is_no_state_is_none(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text("{")
    assert state.read(tmp_path) is None


def test_a_pid_that_was_used_again_is_not_the_process() -> None:
    created = psutil.Process().create_time()
    assert PartState("web", pid=os.getpid(), created=created).process() == psutil.Process()
    assert PartState("web", pid=os.getpid(), created=created - 60).process() is None
    assert PartState("web").process() is None
