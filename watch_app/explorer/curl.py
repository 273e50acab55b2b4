"""A request as a command for a shell: what was stored, byte for byte, and never a secret."""

import base64
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

# A longer payload is taken from a file: nobody wants it in a command, and a shell may not take it.
MOST_IN_COMMAND = 32 * 1024

# What goes through a page, a clipboard and a terminal unchanged; anything else is written in ASCII.
_PLAIN = re.compile(r"[\n\x20-\x7e\xa0-\ud7ff\uf900-\ufdcf\ufdf0-\ufffc\U00010000-\U0001fffd]+")
_HARMLESS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 :._-/;=,")


@dataclass(frozen=True)
class Command:
    """`secrets` are headers whose values are in variables of the shell, by the variables' names.

    `payload` is None where it is taken from the file.
    """

    url: str
    headers: Mapping[str, str]
    secrets: Mapping[str, str]
    payload: bytes | None
    file: str

    @property
    def text(self) -> str:
        before, data = _body(self.payload, self.file)
        lines = [f"{before}curl -i -X POST {_url(self.url)}"]
        lines += [f'-H "{name}: ${variable}"' for name, variable in self.secrets.items()]
        lines += [f"-H {_header(name, value)}" for name, value in self.headers.items()]
        return " \\\n  ".join([*lines, data])


def _url(url: str) -> str:
    """A variable of the shell, or the address itself. Braces and brackets in it are no patterns."""
    return "--globoff " + (f'"{url}"' if url.startswith("$") else shlex.quote(url))


def _body(payload: bytes | None, file: str) -> tuple[str, str]:
    """What stands before the command, and its last words. `--data-raw`: a payload may begin with an @."""
    if payload is None:
        return "", f"--data-binary @{shlex.quote(file)}"
    text = _as_text(payload)
    if text is not None:
        return "", f"--data-raw {shlex.quote(text)}"
    return f"printf %s {base64.b64encode(payload).decode()} | base64 -d | ", "--data-binary @-"


def _header(name: str, value: str) -> str:
    """Values are kept as a character for each byte. Without a value a colon would take the header away."""
    whole = f"{name}: {value}".encode("latin1") if value else f"{name};".encode()
    text = _as_text(whole)
    if text is not None and "\n" not in text:
        return shlex.quote(text)
    return f"\"$(printf '{_octal(whole)}')\""


def _as_text(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if _PLAIN.fullmatch(text) else None


def _octal(data: bytes) -> str:
    return "".join(chr(byte) if byte in _HARMLESS else f"\\{byte:03o}" for byte in data)
