"""Beat, with a sign of life of its own: without it a dead worker and a dead beat look the same."""

import signal
import time
from typing import Any, NoReturn

import structlog
from django.db import DatabaseError
from django_celery_beat.schedulers import DatabaseScheduler

from channels_app.models import Progress

MARK_SECONDS = 5.0

log = structlog.get_logger(__name__)


class ProgressScheduler(DatabaseScheduler):
    """The beat table in the database: staff see it and may pause an entry; intervals are the settings'."""

    _marked_at = float("-inf")
    _told_to_end = False

    def setup_schedule(self) -> None:
        """Before its first query, beat hears of its end from here.

        Celery's handler writes to the database before it ends beat. Within a query, that fails; and where a failed
        query is survived, beat goes on.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._end)
        super().setup_schedule()

    def _end(self, *_: object) -> NoReturn:
        self._told_to_end = True
        raise SystemExit

    def tick(self, *args: Any, **kwargs: Any) -> Any:
        if self._told_to_end:
            # An exception that comes while Python clears up is dropped.
            raise SystemExit
        wait = super().tick(*args, **kwargs)
        self._mark()
        return wait

    def _mark(self) -> None:
        if time.monotonic() - self._marked_at < MARK_SECONDS:
            return
        try:
            Progress.objects.mark("beat")
        except DatabaseError as error:
            log.warning("beat.cannot_mark_progress", error=type(error).__name__)
            return
        self._marked_at = time.monotonic()
