"""What both twins are made with: who calls, how often, for how long."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import httpx

from broker_client.identity import Identity, default_device_id
from broker_client.retries import Retries
from broker_client.wire import base_url, client_headers


class Caller(ABC):
    """`consumer_tokens` are by channel and consumer: {"orders/billing": "…"}."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str = "",
        producer: str = "",
        producer_token: str = "",
        channel_tokens: Mapping[str, str] | None = None,
        consumer_tokens: Mapping[str, str] | None = None,
        device_id: str = "",
        retries: Retries | None = None,
        timeout_seconds: float = 10.0,
    ) -> None:
        device = device_id or default_device_id()
        self._identity = Identity(
            api_key, producer, producer_token, channel_tokens or {}, consumer_tokens or {}, device
        )
        self._retries = retries or Retries()
        self._timeout_seconds = timeout_seconds
        self._address = base_url(url)
        self._open()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._address)!r})"

    @abstractmethod
    def _open(self) -> None: ...

    def _settings(self) -> dict[str, Any]:
        """Of the HTTP client. Whoever waits for a job holds a connection: their number is the caller's affair."""
        # Servers close an idle connection after five seconds: it is not used in the moment they do.
        limits = httpx.Limits(max_connections=None, keepalive_expiry=3.0)
        return {"base_url": self._address, "headers": client_headers(), "limits": limits}
