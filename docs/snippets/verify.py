import base64
import hashlib
import hmac
import os
import sys
import time


def is_genuine(secret: str, headers: dict[str, str], body: bytes, now: float) -> bool:
    """`headers` by lower-case name, `body` exactly as it came."""
    if abs(now - float(headers["webhook-timestamp"])) > 300:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    # While a secret is being rotated there are two, with a space between them.
    return any(hmac.compare_digest(expected, given) for given in headers["webhook-signature"].split(" "))


if __name__ == "__main__":
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    given = dict(zip(names, sys.argv[1:], strict=True))
    genuine = is_genuine(os.environ["WEBHOOK_SECRET"], given, sys.stdin.buffer.read(), time.time())
    print("genuine" if genuine else "forged or old")
    sys.exit(0 if genuine else 1)
