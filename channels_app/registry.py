"""What a process knows of tokens, so that a request is let in without a query.

Entries are read when first asked for and all forgotten when the registry's version has moved. The version
is read at most every REGISTRY_MAX_AGE_SECONDS: a changed token is refused everywhere within a second, and
Redis has no part in it.
"""

import hmac
import math
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from django.conf import settings

from broker_project.api.token_bucket import Limit
from channels_app.models import ApiKey, Channel, Consumer, Producer, RegistryVersion
from channels_app.models.api_key import hash_key
from channels_app.models.consumer import AckMode, ConsumerType, PullMode

MOST_ENTRIES = 100_000
_OF_A_CHANNEL = (
    "id",
    "token",
    "rate_per_second",
    "rate_burst",
    "max_backlog",
    "partitions",
    "delayed_messaging",
    "spread_seconds",
    "answers",
)


@dataclass(frozen=True)
class Entry:
    """A row's id, the token that opens it, and what it may take; None: no limit, and nothing to ask anybody."""

    row_id: int
    token: str
    limit: Limit | None = None
    max_backlog: int | None = None
    # Of a channel only.
    partitions: int = 1
    delayed_messaging: bool = True
    spread_seconds: float | None = None
    answers: str = ""
    # Of a consumer only: how it gets its jobs (push, lease, index), whether it acknowledges each of them, for how long
    # it has them, and how many at most.
    mode: str = ""
    is_acking: bool = False
    ack_timeout_seconds: float = 60.0
    cap: int = 0

    def opened_by(self, token: str) -> bool:
        return hmac.compare_digest(self._secret, token.encode())

    @cached_property
    def _secret(self) -> bytes:
        return self.token.encode()


class Registry:
    """One per process, shared by its threads."""

    def __init__(self, max_age_seconds: float) -> None:
        self._max_age_seconds = max_age_seconds
        self._lock = threading.Lock()
        self._entries: dict[Hashable, Any] = {}
        self._version = -1
        self._read_at = float("-inf")

    def channel(self, public_id: str) -> Entry | None:
        return self._known(("channel", public_id), lambda: _channel(public_id))

    def producer(self, public_id: str) -> Entry | None:
        return self._known(("producer", public_id), lambda: _entry(Producer.objects.named(public_id)))

    def consumer(self, channel_id: int, public_id: str) -> Entry | None:
        rows = Consumer.objects.filter(channel_id=channel_id).named(public_id)
        return self._known(("consumer", channel_id, public_id), lambda: _consumer(rows))

    def api_key(self, text: str) -> int | None:
        """The id of the live key with this text."""
        digest = hash_key(text)
        rows = ApiKey.objects.live().filter(hash=digest).values_list("pk", flat=True)
        return self.proven("api_key", digest, load=rows.first)

    def other(self, *key: Hashable, load: Callable[[], Any]) -> Any:
        """What another app keeps here: a trigger on its table raises the version too."""
        return self._known(key, load)

    def proven(self, *key: Hashable, load: Callable[[], Any]) -> Any:
        """The same, but that there is none is not remembered: a stranger can make up any number of keys."""
        version, entries = self._refresh(), self._entries
        if key in entries:
            return entries[key]
        value = load()
        if value is not None:
            self._keep(version, key, value)
        return value

    def at_hand(self, *key: Hashable) -> tuple[bool, Any]:
        """What is known without asking anybody, and whether that is to be relied on: for the event loop."""
        fresh = time.monotonic() - self._read_at < self._max_age_seconds
        entries = self._entries
        return fresh and key in entries, entries.get(key)

    def refresh(self) -> None:
        """Reads the version ahead of its age, so that nobody has to wait for it."""
        self._read_version()

    def _known(self, key: Hashable, load: Callable[[], Any]) -> Any:
        version, entries = self._refresh(), self._entries
        if key in entries:
            return entries[key]
        value = load()
        self._keep(version, key, value)
        return value

    def _keep(self, version: int, key: Hashable, value: Any) -> None:
        with self._lock:
            # Read under an older version: good for this request, not worth keeping.
            if version == self._version and len(self._entries) < MOST_ENTRIES:
                self._entries[key] = value

    def _refresh(self) -> int:
        if time.monotonic() - self._read_at < self._max_age_seconds:
            return self._version
        return self._read_version()

    def _read_version(self) -> int:
        read_at = time.monotonic()
        version = RegistryVersion.objects.current()
        with self._lock:
            if version != self._version or len(self._entries) >= MOST_ENTRIES:
                self._entries = {}
            self._version, self._read_at = version, read_at
        return version


def _channel(public_id: str) -> Entry | None:
    row = Channel.objects.named(public_id).only(*_OF_A_CHANNEL).first()
    if row is None:
        return None
    return Entry(
        row.pk,
        row.token,
        _limit(row),
        row.max_backlog,
        partitions=row.partitions,
        delayed_messaging=row.delayed_messaging,
        spread_seconds=row.spread_seconds,
        answers=row.answers,
    )


def _consumer(rows: Any) -> Entry | None:
    row = rows.first()
    if row is None:
        return None
    mode = row.pull_mode if row.type == ConsumerType.PULL else row.type
    cap = row.unacked_cap if mode == PullMode.INDEX else row.in_flight_cap
    return Entry(
        row.pk,
        row.token,
        _limit(row),
        mode=mode,
        is_acking=mode == PullMode.LEASE or (mode == ConsumerType.PUSH and row.ack_mode == AckMode.EXPLICIT),
        ack_timeout_seconds=row.ack_timeout_seconds,
        cap=cap,
    )


def _entry(rows: Any) -> Entry | None:
    row = rows.only("id", "token", "rate_per_second", "rate_burst").first()
    return Entry(row.pk, row.token, _limit(row)) if row else None


def _limit(row: Channel | Producer | Consumer) -> Limit | None:
    """Without a burst, a second's worth may come at once."""
    rate = row.rate_per_second
    if rate is None:
        return None
    return Limit(f"{row._meta.model_name}:{row.pk}", rate, row.rate_burst or max(1, math.ceil(rate)))


@cache
def registry() -> Registry:
    return Registry(settings.REGISTRY_MAX_AGE_SECONDS)
