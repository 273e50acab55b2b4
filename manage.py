#!/usr/bin/env python3
"""Django's command line. `./broker manage …` runs it in the broker's environment."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import OperationalError, ProgrammingError
from environs import EnvError

from broker_project.lib.errors import BrokerError

NO_TABLES = "42P01"


def explain(error: Exception) -> str | None:
    """What to tell of an error that is the set-up's and not the code's; None for a surprise."""
    if isinstance(error, ProgrammingError) and getattr(error.__cause__, "sqlstate", "") == NO_TABLES:
        return "The database has no tables yet. Run ./broker up (or manage.py prepare) first."
    if isinstance(error, OperationalError):
        return f"The database does not answer: {str(error).strip().splitlines()[0]}"
    return str(error) if isinstance(error, BrokerError | EnvError | ImproperlyConfigured) else None


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "broker_project.settings.development")
    try:
        execute_from_command_line(sys.argv)
    except Exception as error:
        if (told := explain(error)) is None:
            raise
        sys.exit(f"Error: {told}")
