"""The Python client for tests: a channel of its own, and whoever talks to it."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from broker_client import Broker
from tests.acceptance.engine import Engine


@dataclass(frozen=True)
class Shop:
    """A channel with a pull consumer `billing`; `tokens` open both."""

    channel: str
    url: str
    tokens: dict[str, Any]
    broker: Broker


@contextmanager
def shop(engine: Engine, **consumer: Any) -> Iterator[Shop]:
    name, url = uuid.uuid4().hex[:12], str(engine.web.base_url)
    key = engine.web.headers["Authorization"].removeprefix("Bearer ")
    tokens: dict[str, Any] = {"channel_tokens": {name: "open"}, "consumer_tokens": {f"{name}/billing": "mine"}}
    with Broker(url, api_key=key, producer="shop", producer_token="sell", device_id="here", **tokens) as broker:
        broker.put_producer("shop", token="sell")
        broker.put_channel(name, token="open")
        broker.put_consumer(name, "billing", **{"type": "pull", "token": "mine", **consumer})
        yield Shop(name, url, tokens, broker)
