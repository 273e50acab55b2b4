"""Who watches when beat, Redis or the workers are gone: every web and worker process looks whether somebody watched."""

import threading
from datetime import timedelta

import structlog
from django.db import DatabaseError, connections
from django.utils import timezone

from channels_app.alerts import telling, watching
from channels_app.models import Progress

log = structlog.get_logger(__name__)

LOOK_SECONDS = 10.0
# The sweep comes every ten seconds: then it has missed three.
OVERDUE = timedelta(seconds=35)


def start_watchdog() -> threading.Thread:
    """For the life of the process. It spends one small query every few seconds."""
    thread = threading.Thread(target=_look_for_ever, name="watchdog", daemon=True)
    thread.start()
    return thread


async def watch_when_nobody_does() -> None:
    """A web server's step when it starts."""
    start_watchdog()


def _look_for_ever() -> None:
    pause = threading.Event()
    while not pause.wait(LOOK_SECONDS):
        look()


def look() -> bool:
    """Watches and tells if nobody else did; says whether."""
    try:
        if not _is_overdue():
            return False
        watching.watch(timezone.now())
        telling.tell()
    except DatabaseError as error:
        log.warning("watchdog.cannot_look", error=type(error).__name__)
        return False
    finally:
        connections.close_all()
    return True


def _is_overdue() -> bool:
    last = Progress.objects.filter(name=watching.PART).first()
    return last is None or timezone.now() - last.at > OVERDUE
