"""request_timeout: how long a client waits for an answer."""

from typing import Any

from scheduling_app.querator import durations
from scheduling_app.querator.durations import SECOND
from scheduling_app.querator.errors import InvalidOption

LEAST, MOST = SECOND // 100, 900 * SECOND


def request_timeout(asked: dict[str, Any]) -> float:
    """In seconds."""
    text = asked.get("request_timeout", "")
    found = durations.parse("request timeout", text) if text else 0
    if not found:
        raise InvalidOption("request timeout is required; '5m' is recommended, '15m' is the maximum")
    if found > MOST:
        raise InvalidOption(f"request timeout is invalid; the maximum is '15m' but '{text}' was requested")
    if found <= LEAST:
        raise InvalidOption(f"request timeout is invalid; it is more than '10ms' but '{text}' was requested")
    return found / SECOND
