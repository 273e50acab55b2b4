"""One command runs every check: for a contributor, for .ci/run and for GitHub."""

import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.knobs import TOP

COMMAND = "./broker test"
JOB: dict[str, Any] = yaml.safe_load((TOP / ".github/workflows/test.yml").read_text())["jobs"]["test"]


class Machine:
    """A copy of .ci/run between programs that only write down how they were called."""

    def __init__(self, top: Path) -> None:
        self.top, self.bin = top, top / "bin"
        (top / ".ci").mkdir()
        shutil.copy(TOP / ".ci/run", top / ".ci/run")
        self.bin.mkdir()
        for needed in ("bash", "dirname", "sh"):
            (self.bin / needed).symlink_to(str(shutil.which(needed)))
        self.has("broker", where=top)

    def has(self, name: str, body: str = "", where: Path | None = None) -> None:
        program = (where or self.bin) / name
        program.write_text(f'#!/bin/sh\necho "{name} $*" >> "{self.top}/calls"\n{body}\n')
        program.chmod(0o755)

    def run(self, **environment: str) -> list[str]:
        """What was called, in order."""
        given = {"PATH": str(self.bin), "HOME": str(self.top)} | environment
        subprocess.run([self.top / ".ci/run"], env=given, check=True)
        calls = (self.top / "calls").read_text().splitlines()
        return [call for call in calls if not call.startswith("id ")]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.has("id", "echo 0")
    machine.has("apt-get")
    machine.has("nginx")
    return machine


def test_the_readme_the_workflow_and_ci_run_the_same_command() -> None:
    assert COMMAND in (TOP / "README.md").read_text()
    assert COMMAND in (TOP / "CONTRIBUTING.md").read_text()
    assert (TOP / ".ci/run").read_text().splitlines()[-1] == f"exec {COMMAND}"
    assert [step["run"] for step in JOB["steps"] if "run" in step] == [".ci/run"]
    assert os.access(TOP / ".ci/run", os.X_OK)


def test_the_oldest_python_that_is_supported_is_tested() -> None:
    oldest = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
    assert oldest in JOB["strategy"]["matrix"]["python"]


def test_the_cache_depends_on_the_requirements() -> None:
    (setup,) = [step["with"] for step in JOB["steps"] if "setup-python" in step.get("uses", "")]
    assert setup["cache"] == "pip"
    assert list(TOP.glob(setup["cache-dependency-path"]))


def test_chromium_is_installed_where_there_is_none(machine: Machine) -> None:
    update, install, broker = machine.run()
    assert update.startswith("apt-get update")
    assert install.startswith("apt-get install")
    assert install.endswith("chromium")
    assert broker == "broker test"


def test_nginx_is_installed_where_there_is_none(machine: Machine) -> None:
    machine.has("google-chrome")
    (machine.bin / "nginx").unlink()
    _, install, broker = machine.run()
    assert install.endswith("--no-install-recommends nginx-light")
    assert broker == "broker test"


def test_a_chromium_that_is_there_is_used(machine: Machine) -> None:
    machine.has("google-chrome")
    assert machine.run() == ["broker test"]


def test_a_chromium_of_the_callers_choice_is_used(machine: Machine) -> None:
    assert machine.run(CHROME="elsewhere/chrome") == ["broker test"]


def test_playwrights_own_chromium_is_used(machine: Machine) -> None:
    (machine.top / ".cache/ms-playwright/chromium-1200").mkdir(parents=True)
    assert machine.run() == ["broker test"]


def test_nothing_is_installed_by_an_ordinary_user(machine: Machine) -> None:
    machine.has("id", "echo 1000")
    assert machine.run() == ["broker test"]


def test_the_tests_run_also_when_chromium_cannot_be_installed(machine: Machine) -> None:
    machine.has("apt-get", "exit 100")
    assert machine.run()[-1] == "broker test"


def test_a_failing_check_fails_the_run(machine: Machine) -> None:
    machine.has("broker", "exit 3", where=machine.top)
    with pytest.raises(subprocess.CalledProcessError):
        machine.run()
