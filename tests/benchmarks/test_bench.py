"""./broker bench --quick: every scenario on a whole broker. What it measures is not judged here, nor how fast it is."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks.scenarios import SCENARIOS
from broker_project.cli.bench import DESCRIPTION
from broker_project.cli.surroundings import TOP


@dataclass(frozen=True)
class Run:
    printed: str
    found: dict[str, Any]
    picture: bytes

    def figures(self) -> Iterator[dict[str, Any]]:
        for several in self.found["scenarios"].values():
            yield from several


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    results = tmp_path_factory.mktemp("results")
    command = [sys.executable, "-m", "benchmarks", "--quick", "--results", str(results)]
    done = subprocess.run(command, cwd=TOP, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return Run(done.stdout, json.loads((results / "quick.json").read_text()), (results / "quick.png").read_bytes())


def test_every_scenario_is_in_the_file(run: Run) -> None:
    assert set(run.found["scenarios"]) == set(SCENARIOS)
    assert all(run.found["scenarios"].values())


def test_every_figure_is_a_positive_number_or_said_to_be_missing(run: Run) -> None:
    """Of a small backlog nothing may be left, and of little work a part may not feel anything: these may be 0."""
    for figure in run.figures():
        least = 0 if figure["what"].startswith(("backlog left", "cost of")) else sys.float_info.min
        assert figure["verdict"] == "not there" or figure["measured"] >= least, figure


def test_every_figure_with_a_target_has_a_verdict(run: Run) -> None:
    for figure in run.figures():
        assert figure["target"] is None or figure["verdict"] in ("ok", "missed"), figure


def test_the_table_has_a_line_for_every_figure(run: Run) -> None:
    for figure in run.figures():
        assert f"\n{figure['what']}  " in run.printed


def test_the_machine_is_described_without_names_or_paths(run: Run) -> None:
    assert set(run.found["machine"]) == {
        "system",
        "architecture",
        "cores",
        "memory_gib",
        "python",
        "postgres",
        "redis",
    }
    assert str(Path.home()) not in json.dumps(run.found)


def test_a_picture_is_drawn(run: Run) -> None:
    assert run.picture.startswith(b"\x89PNG")


def test_the_help_names_every_scenario() -> None:
    assert [name for name in SCENARIOS if name not in DESCRIPTION] == []
