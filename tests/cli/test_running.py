from pathlib import Path

import pytest

from broker_project.cli import lock
from broker_project.cli.__main__ import main


@pytest.mark.parametrize("words", [[], ["--background"]])
def test_an_up_beside_a_running_broker_starts_nothing_and_says_that_its_settings_are_not_used(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BROKER_DATA_DIR", str(tmp_path))
    with lock.held(tmp_path, "up"):
        assert main(["up", *words]) == 0
    said = capsys.readouterr()
    assert "already running at http://127.0.0.1:8000" in said.out
    assert "does not use what is set now" in said.out
    assert said.err == ""
    assert [found.name for found in tmp_path.iterdir()] == ["lock"]
