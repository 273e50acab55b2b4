"""Times the real claim, again and again, each time rolled back."""

import asyncio
import json
import sys
import time
from statistics import median
from typing import Any

import django

django.setup()

from django.conf import settings
from psycopg import AsyncConnection

from channels_app.delivery.claim import claim
from channels_app.delivery.target import read_target


async def main(told: dict[str, Any]) -> None:
    async with await AsyncConnection.connect(settings.DATABASE_URL) as connection:
        took = [await _once(connection, told["consumer"], told["most"]) for _ in range(told["times"])]
    print(json.dumps({"median_ms": median(took)}))


async def _once(connection: AsyncConnection, consumer_id: int, most: int) -> float:
    target = await read_target(connection, consumer_id)
    assert target
    began = time.perf_counter()
    claimed = await claim(connection, target, most=most)
    took = (time.perf_counter() - began) * 1000
    await connection.rollback()
    assert len(claimed.jobs) == most
    return took


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
