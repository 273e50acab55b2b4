"""Standard Webhooks: `v1,` base64 HMAC-SHA256 over `id.timestamp.body`, one signature for each live secret."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from functools import lru_cache

PREFIX = "whsec_"


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(24)).decode()


def sign(body: bytes, *, message_id: str, at: int, live: Sequence[str]) -> str:
    """The webhook-signature header: all live secrets sign, so that a rotation has no gap."""
    signed = b"%s.%d.%s" % (message_id.encode(), at, body)
    return " ".join(f"v1,{_digest(signed, secret)}" for secret in live)


def _digest(signed: bytes, secret: str) -> str:
    return base64.b64encode(hmac.digest(_key(secret), signed, hashlib.sha256)).decode()


@lru_cache(10_000)
def _key(secret: str) -> bytes:
    return base64.b64decode(secret.removeprefix(PREFIX))
