"""The headers that a message carries along: what they may be called, hold and weigh."""

import re

from broker_project.lib.errors import BrokerError

MAX_METADATA_BYTES = 16 * 1024
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# What an HTTP client will write: no control character but a tab.
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
# Whoever tries something out may mark it: X-Broker-Test travels along.
_RESERVED = re.compile(
    r"connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|host|content-.*|authorization|cookie"
    r"|set-cookie|expect|x-broker-(?!test$).*|webhook-.*|x-request-id|user-agent",
    re.IGNORECASE,
)


class InvalidHeader(BrokerError):
    """X-Broker-Metadata-Headers names a header that is not legal, is not there, or is too large."""


class ReservedHeader(BrokerError):
    """X-Broker-Metadata-Headers names a header that is the broker's or the connection's own."""


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InvalidHeader
    # To a WSGI consumer X_Broker_Job_ID is X-Broker-Job-ID.
    if _RESERVED.fullmatch(name.replace("_", "-")):
        raise ReservedHeader(f"{name} is the broker's or the connection's own.")
    return name


def check_value(value: str) -> str:
    if not _VALUE.fullmatch(value):
        raise InvalidHeader
    return value


def check_size(headers: dict[str, str]) -> None:
    if sum(len(name) + len(value) for name, value in headers.items()) > MAX_METADATA_BYTES:
        raise InvalidHeader
