"""JSON as its standard has it: Python would read NaN and Infinity too."""

import json
from typing import Any


def read(text: str) -> Any:
    """Raises ValueError, or RecursionError for what is nested too deeply."""
    return json.loads(text, parse_constant=_refuse)


def is_json(text: str) -> bool:
    try:
        read(text)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant: str) -> None:
    raise ValueError(constant)
