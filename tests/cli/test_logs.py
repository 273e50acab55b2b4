from pathlib import Path

import pytest

from broker_project.cli import output as output_module
from broker_project.cli.logs import Tail
from broker_project.cli.output import Output, prefixed


def test_a_tail_gives_whole_lines_as_they_come(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    log.write_text("one\ntw")
    tail = Tail(log)
    assert tail.more() == ["one"]
    with log.open("a") as file:
        file.write("o\nthree\n")
    assert tail.more() == ["two", "three"]


def test_a_tail_follows_a_log_that_is_rotated(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    log.write_text("one\n")
    tail = Tail(log)
    log.rename(tmp_path / "web.log.1")
    log.write_text("two\n")
    assert tail.more() == ["one", "two"]
    assert tail.more() == []


def test_lines_go_to_a_log_of_their_own_and_to_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = Output(tmp_path, terminal=True)
    output.line("web", "100 % of it")
    output.event("web ended")
    assert (tmp_path / "logs/web.log").read_text() == "100 % of it\n"
    assert (tmp_path / "logs/manager.log").read_text().endswith(" web ended\n")
    assert capsys.readouterr().out == "web             | 100 % of it\nmanager         | web ended\n"


def test_in_the_background_nothing_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Output(tmp_path, terminal=False).line("web", "hello")
    assert capsys.readouterr().out == ""


def test_a_log_rotates_before_it_fills_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_module, "MEGABYTES", 0.0001)
    output = Output(tmp_path, terminal=False)
    for number in range(100):
        output.line("web", f"line {number}")
    assert len(list((tmp_path / "logs").iterdir())) == output_module.KEPT + 1


def test_a_prefix_has_no_colour_outside_a_terminal() -> None:
    assert prefixed("web", "hello") == "web             | hello"
