"""Prunes what is older than its channel's retentionDays, finished and proven in the lake; --dry-run only says how much.

./broker manage prune --dry-run --channel orders
"""

import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from channels_app.models import Channel
from reports_app.prune import sweep


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="say how much would go, and change nothing")
        parser.add_argument("--channel", help="only this channel")

    def handle(self, *args: Any, **options: Any) -> None:
        channel = options["channel"]
        if channel is not None and not Channel.objects.filter(public_id=channel).exists():
            raise CommandError("There is no such channel.")
        if options["dry_run"]:
            self._say(channel)
        else:
            self._prune(channel)

    def _say(self, channel: str | None) -> None:
        counted = sweep.count(channel)
        for name, tally in counted.items():
            self.stdout.write(f"{name}: {tally}")
        if not counted:
            self.stdout.write("nothing to prune: no retentionDays")

    def _prune(self, channel: str | None) -> None:
        began = time.monotonic()
        try:
            gone = sweep.prune_all(channel)
        except sweep.PruningUnderWay as error:
            raise CommandError(error.detail) from error
        seconds = time.monotonic() - began
        self.stdout.write(f"pruned {gone}")
        self.stdout.write(f"{gone.total} rows in {seconds:.1f} s, {gone.total / max(seconds, 0.001):.0f} rows/s")
