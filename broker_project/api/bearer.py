"""The key in an Authorization header."""

from collections.abc import Iterable


def bearer(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Empty: there is none. One that is sent twice is none of the two."""
    given = b",".join(value for name, value in headers if name == b"authorization").decode("latin1")
    scheme, _, key = given.partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""
