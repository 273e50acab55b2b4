"""Every request has an id: the client's own if it is a decent one, else ours."""

import re
from collections.abc import Iterable

from broker_project.lib.ids import new_id

_DECENT = re.compile(rb"[A-Za-z0-9._~+/=-]{1,128}")


def request_id_for(headers: Iterable[tuple[bytes, bytes]]) -> str:
    for name, value in headers:
        if name == b"x-request-id" and _DECENT.fullmatch(value):
            return value.decode()
    return new_id()
