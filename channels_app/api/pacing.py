"""Guesses at the doors are paced by address; only who is refused pays."""

import math

from django.conf import settings

from broker_project.api.door_bucket import door_bucket
from broker_project.api.token_bucket import Limit
from broker_project.lib.errors import BrokerError


class Throttled(BrokerError):
    """This address was refused too often; see Retry-After."""

    status = 429

    def __init__(self, wait_seconds: float) -> None:
        super().__init__()
        self.retry_after_seconds = max(1, math.ceil(wait_seconds))


async def pace(address: str) -> None:
    """For one who was refused just now."""
    rate = settings.REFUSALS_PER_MINUTE
    # The bucket that the management API uses too.
    limit = Limit(f"refused:{address}", rate / 60, max(1, int(rate)))
    refusal = await door_bucket().take((limit,)) if rate > 0 else None
    if refusal is not None:
        raise Throttled(refusal[1])
