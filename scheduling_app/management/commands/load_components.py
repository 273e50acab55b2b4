"""Loads pubsub components from Dapr's component YAML: all files are read before anything is changed."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from scheduling_app.dapr.manifests import InvalidManifest, Manifest, manifests
from scheduling_app.models import Component


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")

    def handle(self, *args: Any, files: list[Path], **options: Any) -> None:
        found = [one for file in files for one in self._read(file)]
        with transaction.atomic():
            for one in found:
                self._load(one)

    def _read(self, file: Path) -> list[Manifest | str]:
        try:
            return list(manifests(file.read_text()))
        except (OSError, UnicodeDecodeError, InvalidManifest) as error:
            raise CommandError(f"{file}: {error}") from error

    def _load(self, one: Manifest | str) -> None:
        if isinstance(one, str):
            self.stderr.write(f"{one}: passed over, it is no pubsub component")
            return
        row = Component.objects.put(
            name=one.name,
            enable_delayed_messaging=one.enable_delayed_messaging,
            create_topics=one.create_topics,
        )
        if one.ignored:
            self.stderr.write(f"{row.name}: not understood here, and ignored: {', '.join(one.ignored)}")
        self.stdout.write(f"{row.name}: loaded")
