"""The receiver of all push consumers, in a process of its own: /MANNER/CHANNEL/CONSUMER says how it answers.

It says its port on standard output, shows what it has counted at GET /seen, and ends when its standard input does:
it cannot outlive the demo.
"""

import asyncio
import json
import sys
import time
from collections import Counter

from aiohttp import web

from broker_project.demo.manners import answer

MAX_BODY_BYTES = 2 * 1024 * 1024


class Receiver:
    def __init__(self, seed: int) -> None:
        self._seed, self._began = seed, time.monotonic()
        self._counts: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()

    def application(self) -> web.Application:
        application = web.Application(client_max_size=MAX_BODY_BYTES)
        application.router.add_get("/seen", self._tell)
        application.router.add_post("/{manner}/{channel}/{consumer}", self._take)
        return application

    async def _take(self, request: web.Request) -> web.Response:
        manner = request.match_info["manner"]
        body = await request.read()
        self._counts[manner] += 1
        elapsed = time.monotonic() - self._began
        given = answer(manner, self._counts[manner], elapsed, body, seed=self._seed)
        await asyncio.sleep(given.wait_seconds)
        self._seen["failed" if given.is_failure else "received"] += 1
        return web.json_response({"detail": given.text}, status=given.status)

    async def _tell(self, _request: web.Request) -> web.Response:
        return web.json_response({"received": self._seen["received"], "failed": self._seen["failed"]})


async def serve(seed: int) -> None:
    runner = web.AppRunner(Receiver(seed).application(), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, shutdown_timeout=1.0).start()
    sys.stdout.write(json.dumps({"port": runner.addresses[0][1]}) + "\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
