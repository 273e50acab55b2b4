"""What lies in the chart's directory: the proxy's files as they are in deploy/proxy, and no secret."""

import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.deploy.chart import CHART, helm, needs_helm
from tests.deploy.knobs import TOP
from tests.deploy.proxy import PROXY

COPIED = {"nginx.conf", "broker.conf", "doors.conf"}
IS_CHECKOUT = (TOP / ".git").exists() and shutil.which("git") is not None


@pytest.fixture
def packed(tmp_path: Path) -> set[str]:
    """The names in an archive of the chart, made where somebody has put secrets into it."""
    chart = shutil.copytree(CHART, tmp_path / CHART.name)
    (chart / "secrets").mkdir(exist_ok=True)
    (chart / "secrets" / "token_keys").write_text("hidden")
    done = helm("package", chart, "-d", tmp_path)
    assert done.returncode == 0, done.stderr
    [archive] = tmp_path.glob("*.tgz")
    with tarfile.open(archive) as opened:
        return {name.removeprefix(f"{CHART.name}/") for name in opened.getnames()}


def test_the_charts_proxy_files_are_those_of_the_proxy_to_the_byte() -> None:
    assert {path.name for path in (CHART / "proxy").iterdir()} == COPIED
    for name in COPIED:
        assert (CHART / "proxy" / name).read_bytes() == (PROXY / name).read_bytes(), f"copy deploy/proxy/{name} anew"


@needs_helm
def test_an_archive_of_the_chart_has_the_proxys_files_and_no_secrets(packed: set[str]) -> None:
    assert {f"proxy/{name}" for name in COPIED} <= packed
    assert {name for name in packed if name.startswith("secrets")} == set()


@needs_helm
@pytest.mark.parametrize("name", sorted(COPIED))
def test_a_changed_file_rolls_the_proxy(tmp_path: Path, name: str) -> None:
    chart = shutil.copytree(CHART, tmp_path / CHART.name)
    before = _proxys_checksum(chart)
    with (chart / "proxy" / name).open("a") as file:
        file.write("# changed\n")

    assert _proxys_checksum(chart) != before


def _proxys_checksum(chart: Path) -> str:
    done = helm("template", "demo", chart, "--show-only", "templates/proxy.yaml")
    assert done.returncode == 0, done.stderr
    [checksum] = re.findall(r"checksum/config: (\w+)", done.stdout)
    return str(checksum)


@pytest.mark.skipif(not IS_CHECKOUT, reason="this is no checkout, or there is no git")
def test_git_leaves_secrets_in_the_chart_alone() -> None:
    asked = ["git", "check-ignore", "--quiet", str(CHART / "secrets" / "token_keys")]
    assert subprocess.run(asked, check=False, cwd=TOP).returncode == 0


def test_the_readme_writes_secrets_outside_the_chart() -> None:
    [written] = re.findall(r"secrets --files (\S+)", (CHART / "README.md").read_text())
    assert not (CHART / Path(written).expanduser()).resolve().is_relative_to(CHART)
