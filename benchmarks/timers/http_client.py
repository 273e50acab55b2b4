"""The bare HTTP client: the broker's own session, so many posts at once, nothing kept and nothing signed."""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import django
import uvloop

django.setup()

import aiohttp

from broker_project.lib.egress import allowed_from
from channels_app.delivery.webhook import open_session


async def _post(session: aiohttp.ClientSession, url: str, bodies: Iterator[bytes]) -> None:
    for body in bodies:
        async with session.post(url, data=body, headers={"Content-Type": "application/json"}) as response:
            await response.read()


async def main(told: dict[str, Any]) -> None:
    bodies = (told["body"].encode() for _ in range(told["posts"]))
    async with open_session(allowed_from(["127.0.0.0/8"])) as session:
        began = time.perf_counter()
        await asyncio.gather(*(_post(session, told["url"], bodies) for _ in range(told["at_once"])))
        print(json.dumps({"seconds": time.perf_counter() - began}))


if __name__ == "__main__":
    uvloop.run(main(json.loads(sys.argv[1])))
