"""A secret is given as NAME, or as NAME_FILE: a file that holds it, as Docker and Kubernetes mount them."""

from collections.abc import Mapping
from pathlib import Path

from broker_project.lib.errors import BrokerError

# A slip of the pen that names a device or a dump must not fill the memory.
MOST_BYTES = 64 * 1024


class SecretFileError(BrokerError):
    """The file of a secret cannot be used."""


def given(name: str, environment: Mapping[str, str], default: str = "") -> str:
    """The file wins where both are given. What it holds is in no message."""
    path = environment.get(f"{name}_FILE", "")
    return _read(name, Path(path)) if path else environment.get(name, default)


def is_given(name: str, environment: Mapping[str, str]) -> bool:
    return bool(environment.get(name) or environment.get(f"{name}_FILE"))


def _read(name: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            held = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise SecretFileError(f"{name}_FILE: {path} cannot be read: {error.strerror}.") from None
    if len(held) > MOST_BYTES or not (text := _text(held).strip()):
        raise SecretFileError(f"{name}_FILE: {path} is empty, too large or not text.")
    return text


def _text(held: bytes) -> str:
    try:
        return held.decode()
    except UnicodeDecodeError:
        return ""
