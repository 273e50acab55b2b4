"""backup and restore."""

import argparse
import os
from pathlib import Path

from broker_project.cli import arguments, at_hand, lock
from broker_project.cli.database import Database, DatabaseRefused
from broker_project.cli.plan import Plan
from broker_project.lib.errors import BrokerError

# What is left of an interrupted restore has one of these names, and goes with the next.
FRESH, PAST = "broker_restoring", "broker_before_restore"
DROP = 'DROP DATABASE IF EXISTS :"gone" WITH (FORCE);'
SWAP = """
BEGIN;
ALTER DATABASE :"name" RENAME TO :"past";
ALTER DATABASE :"fresh" RENAME TO :"name";
COMMIT;
"""


class StillRunning(BrokerError):
    """A running broker cannot be restored. Stop it first: ./broker down"""


class NoSuchFile(BrokerError):
    """There is no such file."""


class NotRestored(BrokerError):
    """The backup could not be restored; nothing was changed."""


def add_to(commands: arguments.Commands) -> None:
    description = "Write the whole database to FILE, readable by you alone. The broker may be running."
    backup = commands.add_parser("backup", help="write the database to a file", description=description)
    backup.add_argument("file", type=Path, metavar="FILE")
    backup.set_defaults(run=_backup)
    description = "Replace the database with the one in FILE. The broker must be stopped. A bad file changes nothing."
    restore = commands.add_parser("restore", help="replace the database by a backup", description=description)
    restore.add_argument("file", type=Path, metavar="FILE")
    restore.set_defaults(run=_restore)


def _backup(options: argparse.Namespace) -> int:
    part = options.file.with_name(f"{options.file.name}.part")
    with at_hand.services("backup") as plan:
        try:
            _dump(_database(plan), part)
            part.replace(options.file)
        finally:
            part.unlink(missing_ok=True)
    print(f"The database is in {options.file}. Tokens in it are sealed: keep their key with it.")
    print(_key_hint(plan))
    return 0


def _dump(database: Database, part: Path) -> None:
    part.unlink(missing_ok=True)
    with open(part, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        database.run("pg_dump", "--format=custom", output=file)
        os.fsync(file)


def _restore(options: argparse.Namespace) -> int:
    if not options.file.is_file():
        raise NoSuchFile(f"There is no file {options.file}.")
    try:
        with at_hand.own_services("restore") as plan:
            _replace(_database(plan), options.file)
    except lock.DataBusy as busy:
        raise StillRunning if busy.holder.command == "up" else busy from busy
    print(f"The database is that of {options.file} now. Its tokens are read with the key they were sealed with.")
    print(_key_hint(plan))
    return 0


def _replace(database: Database, file: Path) -> None:
    """Into a database beside it; the names are exchanged in one step when that is whole."""
    server, fresh = database.named("postgres"), database.named(FRESH)
    for name in (FRESH, PAST):
        server.sql(DROP, gone=name)
    server.sql('CREATE DATABASE :"fresh";', fresh=FRESH)
    try:
        fresh.run("pg_restore", "--no-owner", "--no-privileges", "--single-transaction", str(file))
        # A good dump of something else.
        fresh.sql("SELECT FROM django_migrations LIMIT 1;")
        server.sql(SWAP, name=database.name, past=PAST, fresh=FRESH)
    except DatabaseRefused as error:
        server.sql(DROP, gone=FRESH)
        raise NotRestored(f"{file} could not be restored; nothing was changed.\n{error}") from error
    server.sql(DROP, gone=PAST)


def _database(plan: Plan) -> Database:
    return Database(plan.environment()["DATABASE_URL"])


def _key_hint(plan: Plan) -> str:
    return f"It is in {plan.data_dir / 'secrets/token_key'}, or in TOKEN_KEYS where that is set."
