"""Who is asking: the tokens, which stand in no repr, and the name of this device."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field


def default_device_id() -> str:
    return f"{socket.gethostname()[:200]}-{os.getpid()}"


@dataclass(frozen=True)
class Identity:
    """`consumer_tokens` are by channel and consumer: {"orders/billing": "…"}."""

    api_key: str = field(default="", repr=False)
    producer: str = ""
    producer_token: str = field(default="", repr=False)
    channel_tokens: Mapping[str, str] = field(default_factory=dict, repr=False)
    consumer_tokens: Mapping[str, str] = field(default_factory=dict, repr=False)
    device_id: str = field(default_factory=default_device_id)

    def as_producer(self, channel: str) -> dict[str, str]:
        return self._given(
            {
                "X-Broker-Channel-Token": self.channel_tokens.get(channel, ""),
                "X-Broker-Producer-ID": self.producer,
                "X-Broker-Producer-Token": self.producer_token,
            }
        )

    def as_consumer(self, channel: str, consumer: str) -> dict[str, str]:
        return self._given(
            {
                "X-Broker-Channel-Token": self.channel_tokens.get(channel, ""),
                "X-Broker-Consumer-Token": self.consumer_tokens.get(f"{channel}/{consumer}", ""),
            }
        )

    def as_manager(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}

    def as_reader(self, channel: str) -> dict[str, str]:
        return self.as_manager() or self._given({"X-Broker-Channel-Token": self.channel_tokens.get(channel, "")})

    @staticmethod
    def _given(headers: dict[str, str]) -> dict[str, str]:
        return {name: value for name, value in headers.items() if value}
