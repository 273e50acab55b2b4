"""A client of the Querator door: real requests through the frame, on the tests' database."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from asgiref.typing import ASGI3Application

from broker_project.api.door_pool import close_door_pool, door_pool, open_door_pool
from broker_project.api.frame import Frame
from broker_project.lib.conditions import Condition
from channels_app import services
from channels_app.api.pull.waiting import desk
from channels_app.models import Channel
from scheduling_app.api.querator.lease import waiting_for
from scheduling_app.api.querator.routes import ROUTES

Call = tuple[str, dict[str, Any]]


def forget(public_id: str) -> None:
    """Deleted by another process: this one is told nothing."""
    channel = Channel.objects.named(public_id).get()
    services.delete(channel, condition=Condition(etags=frozenset({channel.etag})))


async def _nobody(*_: Any) -> None:
    raise AssertionError("the door has no such address")


@dataclass
class Client:
    key: str

    def send(self, path: str, content: bytes = b"", method: str = "POST", **headers: str) -> httpx.Response:
        """Whatever it is."""
        return self.together([(path, content, method, headers)])[0]

    def call(self, call: str, **fields: Any) -> Any:
        """One that must succeed; the document of its answer."""
        answer = self.ask(call, **fields)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def refused(self, call: str, **fields: Any) -> tuple[int, str]:
        """The code and the message of one that must not; both codes are the same."""
        answer = self.ask(call, **fields)
        told = answer.json()
        assert told["code"] == answer.status_code
        assert told.keys() == {"code", "code_text", "message", "details"}
        return told["code"], told["message"]

    def ask(self, call: str, **fields: Any) -> httpx.Response:
        return self.send(f"/v1/{call}", json.dumps(fields).encode(), **{"Content-Type": "application/json"})

    def together(self, requests: Sequence[tuple[str, bytes, str, dict[str, str]]]) -> list[httpx.Response]:
        """Requests on one event loop, begun in this order."""
        return asyncio.run(self._all(requests))

    def both(self, *calls: Call) -> list[httpx.Response]:
        kind = {"Content-Type": "application/json"}
        return self.together([(f"/v1/{name}", json.dumps(fields).encode(), "POST", kind) for name, fields in calls])

    def while_waiting(self, call: Call, then: Callable[[httpx.AsyncClient], Awaitable[Any]]) -> httpx.Response:
        """The answer to a lease that waits while something else is done, on one event loop."""
        return asyncio.run(self._while_waiting(call, then))

    async def _all(self, requests: Sequence[tuple[str, bytes, str, dict[str, str]]]) -> list[httpx.Response]:
        async with self._door() as client:
            begun = [
                asyncio.create_task(client.request(method, path, content=content, headers=headers))
                for path, content, method, headers in requests
            ]
            return list(await asyncio.gather(*begun))

    async def _while_waiting(self, call: Call, then: Callable[[httpx.AsyncClient], Awaitable[Any]]) -> httpx.Response:
        name, fields = call
        async with asyncio.timeout(30), self._door() as client, asyncio.TaskGroup() as begun:
            answer = begun.create_task(client.post(f"/v1/{name}", json=fields))
            while not waiting_for(fields["queue_name"]):
                await asyncio.sleep(0.01)
            await then(client)
        return answer.result()

    @asynccontextmanager
    async def _door(self) -> AsyncIterator[httpx.AsyncClient]:
        nobody: ASGI3Application = _nobody
        transport = httpx.ASGITransport(app=Frame(ROUTES, nobody, secrets=()))  # type: ignore[arg-type]
        door_pool.cache_clear()
        desk.cache_clear()
        await open_door_pool()
        look = asyncio.create_task(desk().look_round())
        own = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        try:
            async with httpx.AsyncClient(transport=transport, base_url="http://door", headers=own) as client:
                yield client
        finally:
            look.cancel()
            await close_door_pool()
            door_pool.cache_clear()
            desk.cache_clear()


@dataclass
class Line:
    """A queue and one who uses it."""

    client: Client
    name: str

    def produce(self, *texts: str, **fields: Any) -> None:
        items = [{"utf8": text, **fields} for text in texts]
        self.client.call("queue.produce", queue_name=self.name, request_timeout="5s", items=items)

    def lease(self, size: int = 10, timeout: str = "50ms", **fields: Any) -> list[dict[str, Any]]:
        asked = {"client_id": "worker", "batch_size": size, "request_timeout": timeout, **fields}
        found: list[dict[str, Any]] = self.client.call("queue.lease", queue_name=self.name, **asked)["items"]
        return found

    def is_empty(self) -> bool:
        """Nothing comes."""
        asked = {"client_id": "looker", "batch_size": 1, "request_timeout": "20ms"}
        return self.client.ask("queue.lease", queue_name=self.name, **asked).status_code == 454

    def complete(self, *ids: str) -> None:
        self.client.call("queue.complete", queue_name=self.name, request_timeout="5s", ids=ids)

    def retry(self, item_id: str, **fields: Any) -> None:
        self.client.call("queue.retry", queue_name=self.name, items=[{"id": item_id, **fields}])

    def items(self, **fields: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.client.call("storage/items.list", queue_name=self.name, **fields)["items"]
        return found

    def scheduled(self, **fields: Any) -> list[dict[str, Any]]:
        asked = {"queue_name": self.name, **fields}
        found: list[dict[str, Any]] = self.client.call("storage/scheduled.list", **asked)["items"]
        return found

    def stats(self) -> list[dict[str, Any]]:
        [logical] = self.client.call("queue.stats", queue_name=self.name)["logicalQueues"]
        found: list[dict[str, Any]] = logical["partitions"]
        return found
