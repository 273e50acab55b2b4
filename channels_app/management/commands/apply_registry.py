"""Applies a registry file (REGISTRY_FILE, broker.toml by default): makes what is missing, changes what differs."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from broker_project.lib.errors import BrokerError
from channels_app.api import declaration


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", type=Path, default=Path(settings.REGISTRY_FILE))

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            applied = declaration.apply(options["file"])
        except BrokerError as error:
            raise CommandError(error.detail) from error
        for word in ("created", "changed", "unchanged"):
            names = getattr(applied, word)
            self.stdout.write(f"{word}: {', '.join(names) if names else 'none'}")
