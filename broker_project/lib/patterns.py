"""What ids and tokens look like, said once."""

import re

PUBLIC_ID = re.compile(r"[A-Za-z0-9._~-]{1,255}")
# Tokens travel in headers.
TOKEN = re.compile(r"[\x21-\x7e]{1,255}")
ROW_ID = re.compile(r"[1-9][0-9]{0,18}")


def row_id(text: str) -> int:
    """The row that an id in a request names; 0, which no row has, for what cannot be one."""
    number = int(text) if ROW_ID.fullmatch(text) else 0
    return number if number < 2**63 else 0


def whole(pattern: re.Pattern[str]) -> str:
    """For documents and validators, whose patterns may match a part."""
    return f"^{pattern.pattern}$"
