"""Makes a database ready to run on: tables, static files, the declared registry, and on the first run a staff user.

The last line on standard output is a JSON object for `./broker up`; it alone carries the first run's credentials.
"""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection, transaction

from broker_project.api import static_files
from broker_project.lib.errors import BrokerError
from channels_app import sample
from channels_app.api import declaration
from channels_app.models import ApiKey, Channel

USERNAME = "admin"
# The advisory lock of this command.
TURN = 7001


class Command(BaseCommand):
    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        with self._alone():
            self._prepare()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Several that start together take turns; PostgreSQL ends the turn of one that dies."""
        with connection.cursor() as cursor:
            # Its own statement timeout would end the wait.
            cursor.execute("SET statement_timeout = 0; SET lock_timeout = 0; SELECT pg_advisory_lock(%s)", [TURN])
            try:
                yield
            finally:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [TURN])

    def _prepare(self) -> None:
        call_command("migrate", interactive=False, verbosity=0)
        static_files.collect()
        welcome: dict[str, Any] = {"first_run": False, "username": None, "password": None, "api_key": None}
        if not get_user_model().objects.exists() and settings.PROFILE != "production":
            welcome |= {"first_run": True, "username": USERNAME, **self._first_run()}
        welcome |= {"curl": sample.curl(), "notes": self._declared()}
        self._check_tokens()
        self.stdout.write(json.dumps(welcome))

    @transaction.atomic
    def _first_run(self) -> dict[str, str]:
        password = secrets.token_urlsafe(12)
        get_user_model().objects.create_superuser(USERNAME, password=password)
        _, key = ApiKey.objects.issue(name="first run")
        sample.seed()
        return {"password": password, "api_key": key}

    def _declared(self) -> list[str]:
        path = Path(settings.REGISTRY_FILE)
        if not path.exists():
            return []
        try:
            applied = declaration.apply(path)
        except BrokerError as error:
            raise CommandError(f"{path}: {error.detail}") from error
        return [f"{path}: {len(applied.created)} created, {len(applied.changed)} changed"]

    def _check_tokens(self) -> None:
        """Better to stop here than to fail at each delivery: data and keys may have been parted."""
        try:
            Channel.objects.order_by("pk").first()
        except BrokerError as error:
            raise CommandError(error.detail) from error
