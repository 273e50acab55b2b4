"""./broker before Python: finding one, making .venv, installing once."""

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cli.trees import Tree, grow, real_python

OLD = 'case "$*" in *version_info*) exit 1 ;; *) echo Python 3.9.2 ;; esac'
# find_spec finds nothing for a module whose place is taken by None.
WITHOUT_VENV = """case "$*" in
*install.py*) shift 2; exec "{python}" -I -S -c 'import runpy, sys
sys.modules["ensurepip"] = None
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")' "$@" ;;
*) exec "{python}" "$@" ;;
esac"""


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return grow(tmp_path)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A tree whose .venv is there, for what comes after; making one takes seconds."""
    tree = grow(tmp_path_factory.mktemp("installed"))
    first = tree.broker("up", "--port", "1")
    assert "once" in first.stderr
    assert "['up', '--port', '1']" in first.stdout
    return tree


def test_a_python_that_is_too_old_is_refused(tree: Tree) -> None:
    tree.python3(OLD)
    done = tree.broker("status")
    assert done.returncode == 1
    assert "Python 3.11 or newer is needed; python3 here is: Python 3.9.2" in done.stderr
    assert not (tree.top / ".venv").exists()


def test_a_newer_python_under_another_name_is_found(tree: Tree) -> None:
    tree.python3(OLD)
    tree.python3(WITHOUT_VENV.format(python=real_python()), name="python3.12")
    assert "has no venv" in tree.broker("status").stderr


def test_a_broker_python_that_does_not_fit_is_named(tree: Tree) -> None:
    done = tree.broker("status", BROKER_PYTHON="/no/such/python")
    assert done.returncode == 1
    assert "BROKER_PYTHON is /no/such/python" in done.stderr


def test_a_python_without_venv_says_what_to_install(tree: Tree) -> None:
    tree.python3(WITHOUT_VENV.format(python=real_python()))
    done = tree.broker("status")
    assert done.returncode == 1
    assert "apt install python3." in done.stderr
    assert "Traceback" not in done.stderr


def test_nothing_is_installed_twice(installed: Tree) -> None:
    assert installed.broker("status").stderr == ""


def test_the_callers_directory_is_left_alone_also_through_symlinks(installed: Tree, tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to(installed.top / "broker")
    (tmp_path / "two").symlink_to("one")
    done = installed.broker("backup", "my file", path=tmp_path / "two", cwd=tmp_path)
    assert done.stdout == f"handed over|{tmp_path}|['backup', 'my file']\n"


def test_a_change_of_the_requirements_is_installed(installed: Tree) -> None:
    installed.require("core", "# changed")
    assert "(core)" in installed.broker("status").stderr
    assert installed.broker("status").stderr == ""


def test_a_change_of_the_pins_is_a_change_of_all(installed: Tree) -> None:
    installed.broker("test")
    installed.require("constraints", "# changed")
    assert "(core, spark, dev, docs)" in installed.broker("test").stderr


def test_a_command_installs_no_more_than_it_needs(installed: Tree) -> None:
    for name in ("core", "spark", "dev"):
        installed.require(name, f"# changed for {name}")
    assert "(core)" in installed.broker("up").stderr
    assert installed.broker("test", "--help").stderr == ""
    assert "(spark)" in installed.broker("report").stderr
    assert "(dev)" in installed.broker("lint").stderr


def test_an_installation_that_fails_shows_why_and_is_tried_again(installed: Tree) -> None:
    installed.require("core", "no-such-package-at-all==1")
    for _ in range(2):
        failed = installed.broker("status")
        assert failed.returncode == 1
        assert "no-such-package-at-all" in failed.stderr
        assert "handed over" not in failed.stdout
    installed.require("core", "# mended")
    assert installed.broker("status").returncode == 0


def test_a_venv_whose_python_is_gone_is_made_again(installed: Tree) -> None:
    python = installed.top / ".venv/bin/python"
    python.unlink()
    python.symlink_to("/no/such/python3")
    assert "handed over" in installed.broker("status").stdout


def test_a_venv_that_was_half_made_is_made_again(tree: Tree) -> None:
    (tree.top / ".venv/bin").mkdir(parents=True)
    shutil.copy(tree.bin / "python3", tree.top / ".venv/bin/python")
    assert "handed over" in tree.broker("status").stdout


def test_two_at_the_same_time_install_once(installed: Tree) -> None:
    installed.require("core", "# changed for two")
    with ThreadPoolExecutor(2) as pool:
        done = [each.result() for each in [pool.submit(installed.broker, "status") for _ in range(2)]]
    assert [each.returncode for each in done] == [0, 0]
    assert sum("Installing" in each.stderr for each in done) == 1


def test_the_script_is_posix() -> None:
    checker = shutil.which("dash") or shutil.which("sh") or "sh"
    script = Path(__file__).parents[2] / "broker"
    assert subprocess.run([checker, "-n", str(script)], check=False).returncode == 0
