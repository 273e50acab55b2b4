"""Signatures, verified as a consumer would."""

import time

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from broker_project.lib import webhooks


def test_a_consumer_verifies_with_the_public_package() -> None:
    secret, other, now = webhooks.new_secret(), webhooks.new_secret(), int(time.time())
    headers = {
        "webhook-id": "m1",
        "webhook-timestamp": str(now),
        "webhook-signature": webhooks.sign(b'{"a": 1}', message_id="m1", at=now, live=[other, secret]),
    }

    assert Webhook(secret).verify('{"a": 1}', headers) == {"a": 1}
    assert Webhook(other).verify('{"a": 1}', headers) == {"a": 1}
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify('{"a": 2}', headers)
