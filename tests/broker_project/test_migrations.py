"""Migrations can be taken back, all of them."""

import os
import subprocess
import sys

import psycopg
from django.apps import apps

from tests.acceptance.servers import ROOT, scratch_database

OURS = [app for app in apps.get_app_configs() if (ROOT / app.label / "migrations").is_dir()]


def test_every_migration_goes_to_zero_and_back() -> None:
    with scratch_database() as url:
        environment = {**os.environ, "DATABASE_URL": url}

        def migrate(*words: str) -> None:
            command = [sys.executable, "manage.py", "migrate", "--verbosity", "0", *words]
            subprocess.run(command, cwd=ROOT, env=environment, check=True)

        migrate()
        before = _tables(url) | _triggers_and_functions(url)
        for app in reversed(OURS):
            migrate(app.label, "zero")
        ours = {model._meta.db_table for app in OURS for model in app.get_models()}
        assert ours
        assert not ours & _tables(url)
        assert not _triggers_and_functions(url)
        migrate()
        assert _tables(url) | _triggers_and_functions(url) == before


def _tables(url: str) -> set[str]:
    """And their indexes and sequences."""
    return _names(url, "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace")


def _triggers_and_functions(url: str) -> set[str]:
    return _names(
        url,
        """
        SELECT tgname || ' on ' || tgrelid::regclass FROM pg_trigger WHERE NOT tgisinternal
        UNION SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        """,
    )


def _names(url: str, query: str) -> set[str]:
    with psycopg.connect(url) as connection:
        return {row[0] for row in connection.execute(query)}
