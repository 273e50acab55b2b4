"""What a call says and hears, without a socket: a flow yields requests, is sent answers, and returns a value.

Every call is written once as a flow. Broker and AsyncBroker only carry requests out, each in its own way.
"""

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, TypeVar
from urllib.parse import quote

from broker_client.errors import BrokerError, error_class

T = TypeVar("T")

# The request never left: it can be sent again whatever it asks for.
UNSENT = ("ConnectError", "ConnectTimeout", "PoolTimeout")


@dataclass(frozen=True)
class Request:
    """`after_seconds` is waited before it is sent. One that is not `repeatable` is sent again only if it never left."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    content: bytes = field(default=b"", repr=False)
    extra_seconds: float = 0.0
    after_seconds: float = 0.0
    repeatable: bool = True

    def __post_init__(self) -> None:
        # The HTTP library would refuse it too, and quote it: tokens stand in no error.
        for name, value in self.headers.items():
            if not name.isascii() or not f"{name}{value}".replace("\t", "").isprintable():
                raise ValueError(f"The header {name!r} has a character that cannot be sent.")


@dataclass(frozen=True)
class Answer:
    """What the broker said. Status 0: no answer came, and `failure` is the kind of error."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)
    failure: str = ""
    # A request like this was sent before, and may have been heard.
    is_repeat: bool = False

    @property
    def never_sent(self) -> bool:
        return self.failure in UNSENT

    @property
    def retry_after_seconds(self) -> float | None:
        return read_retry_after(self.headers.get("retry-after", ""), now=time())

    def json(self) -> Any:
        try:
            return json.loads(self.body)
        except ValueError:
            raise BrokerError(self.status, "unreadable_answer", "This is not an answer of the broker's.") from None

    def document(self) -> dict[str, Any]:
        """The problem document, or nothing: a proxy may answer in its own words."""
        try:
            told = json.loads(self.body)
        except ValueError:
            return {}
        return told if isinstance(told, dict) else {}

    def expect(self) -> "Answer":
        """Itself, or the error that it is."""
        if 200 <= self.status < 300:
            return self
        raise refusal(self)

    def repeated(self) -> "Answer":
        return replace(self, is_repeat=True)


Flow = Generator[Request, Answer, T]


def refusal(answer: Answer) -> BrokerError:
    kind, told = error_class(answer.status), answer.document()
    return kind(
        answer.status,
        str(told.get("code", "")),
        str(told.get("detail", "")) or answer.failure,
        tuple(told.get("errors", ())),
        retry_after_seconds=answer.retry_after_seconds,
    )


def read_retry_after(text: str, *, now: float) -> float | None:
    """Seconds, or a date."""
    if text.strip().isdigit():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except ValueError:
        return None


def path(*words: str) -> str:
    return "/" + "/".join(quote(word, safe="") for word in words)


def json_request(method: str, where: str, headers: Mapping[str, str], document: Any) -> Request:
    content = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
    return Request(method, where, {**headers, "Content-Type": "application/json"}, content)
