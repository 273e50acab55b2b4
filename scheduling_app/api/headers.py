"""The headers of a broadcast, read into values or refused."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from broker_project.lib.errors import BrokerError

MAX_METADATA_BYTES = 16 * 1024
_INTEGER = re.compile(r"[+-]?[0-9]{1,10}")
_MESSAGE_ID = re.compile(r"[A-Za-z0-9._~-]{1,255}")
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_RESERVED = re.compile(
    r"connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|host|content-.*|authorization|cookie"
    r"|set-cookie|expect|x-broker-.*|webhook-.*|x-request-id|user-agent",
    re.IGNORECASE,
)


class InvalidPriority(BrokerError):
    """X-Broker-Message-Priority must be a whole number from -2147483648 to 2147483647."""


class InvalidMessageId(BrokerError):
    """X-Broker-Message-ID is 1 to 255 of A-Z a-z 0-9 . _ ~ -"""


class InvalidHeader(BrokerError):
    """X-Broker-Metadata-Headers names a header that is not legal, is not there, or is too large."""


class ReservedHeader(BrokerError):
    """X-Broker-Metadata-Headers names a header that is the broker's or the connection's own."""


class RepeatedHeader(BrokerError):
    """A header that may stand once was sent twice."""


@dataclass(frozen=True)
class Headers:
    """Names in any case; a value is what was sent, as Latin-1 text."""

    values: dict[str, list[str]]

    @classmethod
    def of(cls, pairs: Iterable[tuple[bytes, bytes]]) -> "Headers":
        values: dict[str, list[str]] = {}
        for name, value in pairs:
            values.setdefault(name.decode("latin1").lower(), []).append(value.decode("latin1"))
        return cls(values)

    def one(self, name: str) -> str | None:
        found = self.values.get(name.lower(), [])
        if len(found) > 1:
            raise RepeatedHeader(f"{name} was sent twice.")
        return found[0] if found else None

    def priority(self) -> int:
        text = self.one("X-Broker-Message-Priority")
        if text is None:
            return 0
        if not _INTEGER.fullmatch(text) or not -(2**31) <= int(text) < 2**31:
            raise InvalidPriority
        return int(text)

    def message_id(self) -> str | None:
        text = self.one("X-Broker-Message-ID")
        if text is not None and not _MESSAGE_ID.fullmatch(text):
            raise InvalidMessageId
        return text

    def metadata(self) -> dict[str, str]:
        """The headers to keep and to replay, under the names that the producer gave."""
        listed = self.one("X-Broker-Metadata-Headers") or ""
        kept = {name: self._kept(name) for name in (part.strip() for part in listed.split(",")) if name}
        if sum(len(name) + len(value) for name, value in kept.items()) > MAX_METADATA_BYTES:
            raise InvalidHeader
        return kept

    def _kept(self, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise InvalidHeader
        # To a WSGI consumer X_Broker_Job_ID is X-Broker-Job-ID.
        if _RESERVED.fullmatch(name.replace("_", "-")):
            raise ReservedHeader(f"{name} is the broker's or the connection's own.")
        value = self.one(name)
        if value is None or any(character in value for character in "\r\n\0"):
            raise InvalidHeader
        return value
