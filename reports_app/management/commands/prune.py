"""Prunes what is older than its channel's retentionDays, finished and proven in the lake; --dry-run only says how much.
Without a channel also what no channel owns: operations, the admin's log, and ids that are free again.

./broker manage prune --dry-run --channel orders
"""

import time
from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from channels_app.models import Channel
from reports_app.prune import records, sweep


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
        of_nobody = records.count() if channel is None else Counter()
        for name, tally in counted.items():
            self.stdout.write(f"{name}: {tally}")
        self._say_records("no channel: ", of_nobody)
        if not counted and not of_nobody:
            self.stdout.write("nothing to prune: no retentionDays")

    def _prune(self, channel: str | None) -> None:
        began = time.monotonic()
        try:
            pruned = sweep.prune_all(channel)
        except sweep.PruningUnderWay as error:
            raise CommandError(error.detail) from error
        seconds, gone = time.monotonic() - began, pruned.gone
        self.stdout.write(f"pruned {gone}")
        self._say_records("pruned ", pruned.records)
        self.stdout.write(f"{gone.total} rows in {seconds:.1f} s, {gone.total / max(seconds, 0.001):.0f} rows/s")

    def _say_records(self, beginning: str, counted: Counter[str]) -> None:
        if counted:
            self.stdout.write(beginning + ", ".join(f"{count} {name} rows" for name, count in counted.items()))
