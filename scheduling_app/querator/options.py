"""What a client says of a queue, checked on its own; what it leaves out is None."""

from dataclasses import dataclass

from channels_app.models.channel import MAX_AGE_LIMIT_SECONDS, MAX_PARTITIONS
from channels_app.models.consumer import MAX_ACK_TIMEOUT_SECONDS
from scheduling_app.models.queue import MAX_REFERENCE
from scheduling_app.querator import durations
from scheduling_app.querator.durations import SECOND
from scheduling_app.querator.errors import InvalidOption
from scheduling_app.querator.names import check_name

MAX_TIMEOUT_LENGTH = 15
MAX_ATTEMPTS = 65_536


@dataclass(frozen=True)
class QueueOptions:
    """Times in nanoseconds. An empty dead queue is none."""

    lease: int | None = None
    expire: int | None = None
    max_attempts: int | None = None
    dead_queue: str | None = None
    reference: str | None = None
    partitions: int | None = None


def lease_timeout(text: str) -> int | None:
    return _timeout("lease timeout", text, least=SECOND // 1000, most=MAX_ACK_TIMEOUT_SECONDS * SECOND)


def expire_timeout(text: str) -> int | None:
    return _timeout("expire timeout", text, least=SECOND // 1000, most=MAX_AGE_LIMIT_SECONDS * SECOND)


def check_order(lease: int, expire: int) -> None:
    if lease > expire:
        names = durations.shown(lease), durations.shown(expire)
        raise InvalidOption(
            f"lease timeout is too long; {names[0]} cannot be greater than the expire timeout {names[1]}"
        )


def max_attempts(number: int) -> int:
    if number < 0:
        raise InvalidOption("max attempts is invalid; cannot be a negative number")
    if number > MAX_ATTEMPTS:
        raise InvalidOption(f"max attempts is invalid; cannot be greater than {MAX_ATTEMPTS}")
    return number


def reference(text: str) -> str:
    if len(text) > MAX_REFERENCE:
        raise InvalidOption(f"reference field is invalid; cannot be greater than '{MAX_REFERENCE}' characters")
    return text


def dead_queue(name: str) -> str:
    return check_name("dead queue", name) if name else ""


def partitions(number: int) -> int | None:
    """None is said by 0, as everywhere in its wire format."""
    if not 0 <= number <= MAX_PARTITIONS:
        raise InvalidOption(f"requested partitions is invalid; it is a number from 1 to {MAX_PARTITIONS}")
    return number or None


def _timeout(field: str, text: str, *, least: int, most: int) -> int | None:
    if len(text) > MAX_TIMEOUT_LENGTH:
        raise InvalidOption(f"{field} is invalid; cannot be greater than '{MAX_TIMEOUT_LENGTH}' characters")
    if not text:
        return None
    found = durations.parse(field, text)
    if found and not least <= found <= most:
        raise InvalidOption(f"{field} is invalid; it is from {durations.shown(least)} to {durations.shown(most)}")
    return found or None
