"""Runs Flower behind a password, to look and not to touch: `python -m broker_project.flower --port=8001`.

Everything that sends, revokes or tunes a task or a worker is taken out of its addresses.
"""

import os
import sys

import django
from django.conf import settings
from flower import urls

from broker_project.celery import app

USERNAME = "admin"
READABLE_API = {"/api/workers", "/api/tasks", "/api/task/types", "/api/queues/length", "/api/task/info/(.*)"}
# Tasks kept in memory: enough to look back some minutes at full load.
MAX_TASKS = 10_000


def shut_the_api() -> None:
    """In place: Flower's application holds on to this very list."""
    urls.handlers[:] = [handler for handler in urls.handlers if _is_harmless(handler)]


def _is_harmless(handler: object) -> bool:
    pattern = handler[0] if isinstance(handler, tuple) else handler.regex.pattern.rstrip("$")  # type: ignore[attr-defined]
    return not pattern.startswith("/api/") or pattern in READABLE_API


def main() -> None:
    django.setup()
    shut_the_api()
    os.environ["FLOWER_BASIC_AUTH"] = f"{USERNAME}:{settings.FLOWER_PASSWORD}"
    os.environ["FLOWER_MAX_TASKS"] = str(MAX_TASKS)
    app.start(["flower", *sys.argv[1:]])


if __name__ == "__main__":
    main()
