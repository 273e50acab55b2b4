"""Every request has an id: the client's own if it is a decent one, else ours."""

import re
import uuid
from collections.abc import Iterable

_DECENT = re.compile(rb"[A-Za-z0-9._~+/=-]{1,128}")


def request_id_for(headers: Iterable[tuple[bytes, bytes]]) -> str:
    for name, value in headers:
        if name == b"x-request-id" and _DECENT.fullmatch(value):
            return value.decode()
    return uuid.uuid4().hex
