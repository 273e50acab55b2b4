"""The polled queue, for tests: what is said to it and what is heard."""

import uuid
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass
class Queue:
    """A queue, and what may be said of it."""

    web: httpx.Client
    name: str

    def post(self, path: str, **fields: Any) -> httpx.Response:
        return self.web.post(f"/v1/{path}", json=fields)

    def create(self) -> httpx.Response:
        return self.post("queue/create", name=self.name)

    def register(self, subscriber_id: str = "sub-1", **fields: Any) -> httpx.Response:
        return self.post("subscribe/register", queue_name=self.name, subscriber_id=subscriber_id, **fields)

    def publish(self, value: Any = 1) -> httpx.Response:
        return self.post("publish", metadata={"queue_name": self.name}, value=value)

    def poll(self, subscriber_id: str = "sub-1", **fields: Any) -> httpx.Response:
        return self.post("subscribe/poll", queue_name=self.name, subscriber_id=subscriber_id, **fields)

    def take(self, subscriber_id: str = "sub-1", **fields: Any) -> list[int]:
        return [message["id"] for message in self.poll(subscriber_id, **fields).json()["messages"]]

    def ack(self, index: int, subscriber_id: str = "sub-1") -> httpx.Response:
        return self.post("subscribe/message/ack", queue_name=self.name, subscriber_id=subscriber_id, message_id=index)


def named(web: httpx.Client) -> Queue:
    return Queue(web, uuid.uuid4().hex[:12])


def subscribed(web: httpx.Client) -> Queue:
    """One with a subscriber."""
    made = named(web)
    assert (made.create().status_code, made.register().status_code) == (200, 200)
    return made


def refused(answer: httpx.Response, status: int) -> str:
    """The one sentence of a refusal."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    [told] = answer.json()["errors"]
    return str(told)
