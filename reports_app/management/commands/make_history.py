"""Makes a history to try reports, the lake and pruning on: finished, in the past, the same for the same seed.

./broker manage make_history --messages 1000000 --days 30 --seed 1
"""

import time
from argparse import ArgumentParser
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from broker_project.lib.errors import BrokerError
from reports_app.history import make


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--messages", type=int, default=100_000, help="how many (%(default)s)")
        parser.add_argument("--days", type=int, default=30, help="over how many days (%(default)s)")
        parser.add_argument("--seed", type=int, default=1, help="another one makes another history (%(default)s)")
        parser.add_argument("--until", type=_midnight, default=_today(), help="the day it ends before, in UTC")
        parser.add_argument("--add", action="store_true", help="also if there are messages already")

    def handle(self, *args: Any, **options: Any) -> None:
        began = time.monotonic()
        asked = make.Asked(options["messages"], options["days"], options["seed"], options["until"])
        try:
            (make.add if options["add"] else make.make)(asked)
        except BrokerError as error:
            raise CommandError(error.detail) from error
        self.stdout.write(f"{asked.messages} messages of {asked.days} days in {time.monotonic() - began:.1f} s")


def _midnight(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)


def _today() -> datetime:
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
