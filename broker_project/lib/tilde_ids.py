"""Any text as the id of a registry object, and back: every byte of it that is not plain is written ~XX."""

import re

_OTHER = re.compile(rb"[^A-Za-z0-9._-]")
_WRITTEN = re.compile(rb"~([0-9A-F]{2})")


def written(text: str) -> str:
    """A ~ is written too, so that `read` is the way back; lone surrogates are, as their three bytes."""
    return _OTHER.sub(lambda found: b"~%02X" % found[0][0], text.encode("utf-8", "surrogatepass")).decode()


def read(public_id: str) -> str:
    """An id that was not made here may have a ~ that means nothing: it stays."""
    plain = _WRITTEN.sub(lambda found: bytes.fromhex(found[1].decode()), public_id.encode())
    return plain.decode("utf-8", "replace")
