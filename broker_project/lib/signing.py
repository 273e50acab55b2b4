"""The gateway's signature on a request: `t=<unix>,v1=<hex>`, HMAC-SHA256 over `t.body`."""

import hashlib
import hmac
import re
from collections.abc import Sequence

from broker_project.lib.errors import BrokerError

TOLERANCE_SECONDS = 300
_FORM = re.compile(r"t=(\d{1,12}),v1=([0-9a-f]{64})")


class SignatureMissing(BrokerError):
    """X-Broker-Signature is missing, or is not t=<unix seconds>,v1=<hex>."""

    status = 401


class SignatureRefused(BrokerError):
    """X-Broker-Signature does not match the body, or is more than 300 seconds away from now."""

    status = 403


def sign(body: bytes, *, secret: str, at: int) -> str:
    """The header that a gateway sends with this body."""
    return f"t={at},v1={_digest(body, secret, at)}"


def verify(header: str, body: bytes, *, secrets: Sequence[str], now: float) -> None:
    """Raise unless one of the secrets signed this body, and did so just now."""
    form = _FORM.fullmatch(header)
    if form is None:
        raise SignatureMissing
    at, given = int(form[1]), form[2]
    matches = [hmac.compare_digest(given, _digest(body, secret, at)) for secret in secrets]
    if abs(now - at) > TOLERANCE_SECONDS or not any(matches):
        raise SignatureRefused


def _digest(body: bytes, secret: str, at: int) -> str:
    return hmac.new(secret.encode(), b"%d.%s" % (at, body), hashlib.sha256).hexdigest()
