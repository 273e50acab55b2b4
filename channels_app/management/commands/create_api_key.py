"""Makes an API key and prints it, alone on the last line. It cannot be read again."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from channels_app.models import ApiKey


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--name", default="command line", help="what the key is for")
        parser.add_argument("--replace", action="store_true", help="revoke earlier keys of this name")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["replace"]:
            ApiKey.objects.filter(name=options["name"]).revoke()
        _, text = ApiKey.objects.issue(name=options["name"])
        self.stdout.write(text)
