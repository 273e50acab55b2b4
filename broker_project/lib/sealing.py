"""Secrets that must be read again (tokens sent to consumers) are sealed before they are stored."""

import base64
import hashlib
import hmac
from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from broker_project.lib.errors import BrokerError


class UnreadableSecret(BrokerError):
    """A stored token cannot be read with the keys at hand: TOKEN_KEYS of the environment or .env, else token_key in the
    data directory's secrets. Was the key that sealed it kept?"""

    status = 503


class Sealer:
    """Encrypts with the first key, decrypts with any: put a new key first, reseal, drop the old one."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._fernet = MultiFernet([Fernet(_derive(key)) for key in keys])
        self._digest_keys = [_derive(f"digest {key.strip()}") for key in keys]

    def seal(self, plain: str) -> str:
        return self._fernet.encrypt(plain.encode()).decode()

    def unseal(self, sealed: str) -> str:
        try:
            return self._fernet.decrypt(sealed.encode()).decode()
        except InvalidToken as error:
            raise UnreadableSecret from error

    def digest(self, plain: str) -> str:
        """To find a sealed text by: the same for the same text, and of no use without the keys."""
        return _digest(self._digest_keys[0], plain)

    def digests(self, plain: str) -> list[str]:
        """By each key: for what was not sealed anew yet."""
        return [_digest(key, plain) for key in self._digest_keys]


def _digest(key: bytes, plain: str) -> str:
    return hmac.digest(key, plain.encode(), "sha256").hex()


def _derive(key: str) -> bytes:
    return base64.urlsafe_b64encode(hashlib.sha256(key.strip().encode()).digest())
