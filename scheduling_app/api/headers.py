"""The headers of a broadcast, read into values or refused."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from broker_project.lib.errors import BrokerError
from broker_project.lib.metadata import InvalidHeader, check_name, check_size, check_value
from scheduling_app.door.bounds import DEFAULT_CONTENT_TYPE, MAX_CONTENT_TYPE

PRIORITIES = range(-(2**31), 2**31)
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")
MESSAGE_ID = re.compile(r"[A-Za-z0-9._~-]{1,255}")


class InvalidPriority(BrokerError):
    """X-Broker-Message-Priority must be a whole number from -2147483648 to 2147483647."""


class InvalidMessageId(BrokerError):
    """X-Broker-Message-ID is 1 to 255 of A-Z a-z 0-9 . _ ~ -"""


class EmptyPayload(BrokerError):
    """A message needs a body."""


class InvalidContentType(BrokerError):
    """Content-Type is too long."""


class RepeatedHeader(BrokerError):
    """A header that may stand once was sent twice."""


@dataclass(frozen=True)
class Headers:
    """Asked for by names in any case; a value is what was sent, as Latin-1 text."""

    values: dict[bytes, bytes]
    repeated: frozenset[bytes]

    @classmethod
    def of(cls, pairs: Iterable[tuple[bytes, bytes]]) -> "Headers":
        """ASGI hands over names in lower case."""
        values: dict[bytes, bytes] = {}
        repeated = set()
        for name, value in pairs:
            if name in values:
                repeated.add(name)
            values[name] = value
        return cls(values, frozenset(repeated))

    def one(self, name: str) -> str | None:
        key = _key(name)
        if key in self.repeated:
            raise RepeatedHeader(f"{name} was sent twice.")
        value = self.values.get(key)
        return None if value is None else value.decode("latin1")

    def has(self, name: str) -> bool:
        """Whether it was sent, and says something."""
        return bool(self.values.get(_key(name)))

    def priority(self) -> int:
        text = self.one("X-Broker-Message-Priority")
        if text is None:
            return 0
        if not _INTEGER.fullmatch(text) or int(text) not in PRIORITIES:
            raise InvalidPriority
        return int(text)

    def message_id(self) -> str | None:
        text = self.one("X-Broker-Message-ID")
        if text is not None and not MESSAGE_ID.fullmatch(text):
            raise InvalidMessageId
        return text

    def metadata(self) -> dict[str, str]:
        """The headers to keep and to replay, under the names that the producer gave."""
        listed = self.one("X-Broker-Metadata-Headers")
        if not listed:
            return {}
        kept = {name: self._kept(name) for name in (part.strip() for part in listed.split(",")) if name}
        check_size(kept)
        return kept

    def _kept(self, name: str) -> str:
        value = self.one(check_name(name))
        if value is None:
            raise InvalidHeader
        return check_value(value)

    def content_type(self) -> str:
        text = self.one("Content-Type") or DEFAULT_CONTENT_TYPE
        if len(text) > MAX_CONTENT_TYPE:
            raise InvalidContentType
        return text


@lru_cache(1_000)
def _key(name: str) -> bytes:
    return name.lower().encode("latin1")
