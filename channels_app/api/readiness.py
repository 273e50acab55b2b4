"""Workers and beat count as alive only by work they have done: the row they touched not long ago."""

from django.conf import settings

from broker_project.api.door_pool import door_pool
from broker_project.api.health import CHECK_SECONDS, Check

_PROGRESS = "SELECT now() - at < make_interval(secs => %s) FROM progress WHERE name = %s"


def made_progress(name: str) -> Check:
    async def ask() -> bool:
        async with door_pool().connection(timeout=CHECK_SECONDS) as connection:
            cursor = await connection.execute(_PROGRESS, (settings.PROGRESS_MAX_AGE_SECONDS, name))
            row = await cursor.fetchone()
        return bool(row and row[0])

    return Check(name, ask)


CHECKS = tuple(map(made_progress, ("dispatch", "delivery", "beat")))
