"""Who watches and tells when beat, Redis or workers are gone: each web and worker process sees whether somebody did."""

import threading
from datetime import timedelta

import structlog
from django.db import Error, connections
from django.utils import timezone

from channels_app.alerts import telling, watching
from channels_app.models import Progress

log = structlog.get_logger(__name__)

LOOK_SECONDS = 10.0
# Both sweeps come every ten seconds: then one has missed three.
OVERDUE = timedelta(seconds=35)


def start_watchdog() -> threading.Thread:
    """For the life of the process. It spends two small queries every few seconds."""
    thread = threading.Thread(target=_look_until, args=[threading.Event()], name="watchdog", daemon=True)
    thread.start()
    return thread


async def watch_when_nobody_does() -> None:
    """A web server's step when it starts."""
    start_watchdog()


def _look_until(end: threading.Event) -> None:
    while not end.wait(LOOK_SECONDS):
        try:
            look()
        except Exception as error:  # noqa: BLE001
            # Whatever it was, the thread lives on. The words of the error may hold a secret.
            log.error("watchdog.failed", error=type(error).__name__)


def look() -> bool:
    """Watches and tells if nobody else did; says whether."""
    try:
        return _watch_and_tell()
    except Error as error:
        log.warning("watchdog.cannot_look", error=type(error).__name__)
        return False
    finally:
        connections.close_all()


def _watch_and_tell() -> bool:
    """Dispatch workers watch, delivery workers tell: either may be gone alone."""
    is_unwatched = _is_overdue(watching.PART)
    if is_unwatched:
        watching.watch(timezone.now())
    is_untold = is_unwatched or _is_overdue(telling.PART)
    if is_untold:
        telling.tell()
    return is_untold


def _is_overdue(part: str) -> bool:
    last = Progress.objects.filter(name=part).first()
    return last is None or timezone.now() - last.at > OVERDUE
