"""No secret in a log: values under a telling key, and anything shaped like one of our keys, are blanked."""

import re
from collections.abc import MutableMapping
from typing import Any

BLANK = "[redacted]"
_TELLING_KEY = re.compile(r"token|password|secret|authorization|cookie|api_?key|signature", re.IGNORECASE)
_KEY_SHAPE = re.compile(r"\b(?:bk|whsec)_[A-Za-z0-9+/=_-]{8,}|(?<=Bearer )\S+|(?<=://)[^/\s:@]*:[^/\s@]+(?=@)")


def redact(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor, the last before the line is drawn."""
    return {key: _clean(key, value) for key, value in event.items()}


def _clean(key: str, value: Any) -> Any:
    if _TELLING_KEY.search(key):
        return BLANK
    if isinstance(value, str):
        return _KEY_SHAPE.sub(BLANK, value)
    if isinstance(value, dict):
        return {str(inner): _clean(str(inner), item) for inner, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean("", item) for item in value]
    return value
