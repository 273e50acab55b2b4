"""What ids and tokens look like, said once."""

import re

PUBLIC_ID = re.compile(r"[A-Za-z0-9._~-]{1,255}")
# Tokens travel in headers.
TOKEN = re.compile(r"[\x21-\x7e]{1,255}")


def whole(pattern: re.Pattern[str]) -> str:
    """For documents and validators, whose patterns may match a part."""
    return f"^{pattern.pattern}$"
