"""Compares the counters with the rows they count; --repair puts right what differs, while the broker runs.

Exit code 0: they agree, or do so again. 1: they differ.
"""

from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from channels_app import counts

HEADINGS = ("of", "channel", "consumer", "state", "reason", "counter", "rows")


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--repair", action="store_true", help="correct the counters by what differs")

    def handle(self, *args: Any, **options: Any) -> None:
        checked = counts.repair() if options["repair"] else counts.check()
        if not checked.total:
            self.stdout.write("all right")
            return
        self._show(checked)
        if not options["repair"]:
            raise CommandError(
                f"{checked.total} counts differ. Correct them with: ./broker manage check_counts --repair"
            )
        self.stdout.write(f"{checked.total} counts corrected")

    def _show(self, checked: counts.Checked) -> None:
        rows = [
            (one.kind.name.lower(), one.channel, one.consumer, one.status, one.reason, str(one.kept), str(one.counted))
            for one in checked.shown
        ]
        for line in _table([HEADINGS, *rows]):
            self.stdout.write(line)
        if checked.total > len(rows):
            self.stdout.write(f"and {checked.total - len(rows)} more")


def _table(rows: list[tuple[str, ...]]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
