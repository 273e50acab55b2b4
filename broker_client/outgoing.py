"""A message on its way in: its payload, and everything that is said about it."""

import base64
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any


@dataclass(frozen=True)
class Outgoing:
    """bytes and texts go as they are, all else as JSON. Without an id it gets one, so that a retry is harmless."""

    payload: Any = field(repr=False)
    message_id: str = ""
    priority: int = 0
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    content_type: str = ""
    scheduled_for: datetime | None = None

    @classmethod
    def of(cls, item: Any) -> "Outgoing":
        return item if isinstance(item, Outgoing) else cls(item)

    def __post_init__(self) -> None:
        # Frozen to everybody else: these are settled before anybody sees them.
        object.__setattr__(self, "message_id", self.message_id or uuid.uuid4().hex)
        object.__setattr__(self, "content_type", self.content_type or self._usual_type())
        if self.scheduled_for is not None and self.scheduled_for.tzinfo is None:
            raise ValueError("scheduled_for needs a time zone.")

    @property
    def body(self) -> bytes:
        return bytes(self.payload) if self._is_bytes else self._text().encode()

    def as_headers(self) -> dict[str, str]:
        said = {
            **self.headers,
            "Content-Type": self.content_type,
            "X-Broker-Message-ID": self.message_id,
            "X-Broker-Message-Priority": str(self.priority),
        }
        if self.headers:
            said["X-Broker-Metadata-Headers"] = ",".join(self.headers)
        if self.scheduled_for is not None:
            said["X-Broker-Scheduled-For"] = rfc3339(self.scheduled_for)
        return said

    def as_item(self) -> dict[str, Any]:
        item: dict[str, Any] = {
            "messageId": self.message_id,
            "contentType": self.content_type,
            "priority": self.priority,
            "headers": dict(self.headers),
            **self._payload_field(),
        }
        if self.scheduled_for is not None:
            item["scheduledFor"] = rfc3339(self.scheduled_for)
        return item

    @property
    def _is_bytes(self) -> bool:
        return isinstance(self.payload, bytes | bytearray | memoryview)

    def _payload_field(self) -> dict[str, str]:
        if self._is_bytes:
            return {"payloadBase64": base64.b64encode(self.payload).decode()}
        return {"payload": self._text()}

    def _text(self) -> str:
        return self.payload if isinstance(self.payload, str) else json.dumps(self.payload, allow_nan=False)

    def _usual_type(self) -> str:
        if self._is_bytes:
            return "application/octet-stream"
        return "text/plain; charset=utf-8" if isinstance(self.payload, str) else "application/json"


def due(scheduled_for: datetime | None, delay: timedelta | float | None) -> datetime | None:
    """A time, or so long from now (seconds); not both."""
    if delay is None:
        return scheduled_for
    if scheduled_for is not None:
        raise ValueError("Give scheduled_for or delay, not both.")
    return datetime.now(UTC) + (delay if isinstance(delay, timedelta) else timedelta(seconds=delay))


def rfc3339(moment: datetime) -> str:
    if moment.tzinfo is None:
        raise ValueError("A time needs a time zone.")
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
