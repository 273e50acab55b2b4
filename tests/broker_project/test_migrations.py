"""Migrations can be taken back, all of them."""

import os
import subprocess
import sys

import psycopg

from tests.acceptance.servers import ROOT, scratch_database

APPS = ("channels_app",)


def test_every_migration_goes_to_zero_and_back() -> None:
    with scratch_database() as url:
        environment = {**os.environ, "DATABASE_URL": url}

        def migrate(*words: str) -> None:
            command = [sys.executable, "manage.py", "migrate", "--verbosity", "0", *words]
            subprocess.run(command, cwd=ROOT, env=environment, check=True)

        migrate()
        before = _objects(url)
        for app in reversed(APPS):
            migrate(app, "zero")
        assert not {name for name in _objects(url) if "channel" in name or "registry" in name}
        migrate()
        assert _objects(url) == before


def _objects(url: str) -> set[str]:
    """Tables, indexes, triggers and functions of ours."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            """
            SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
            UNION SELECT tgname || ' on ' || tgrelid::regclass FROM pg_trigger WHERE NOT tgisinternal
            UNION SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
            """
        )
        return {row[0] for row in rows}
