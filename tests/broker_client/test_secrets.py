"""A token stands in no repr, no log line and no error."""

import logging
from collections.abc import Callable
from itertools import product

import pytest

from broker_client import Broker, BrokerError
from broker_client.identity import Identity
from broker_client.publishing import publish
from tests.acceptance.servers import free_port
from tests.broker_client.conftest import QUICK
from tests.broker_client.small_broker import SmallBroker, busy

SECRETS = ("key-secret", "sell-secret", "open-secret", "billing-secret")
IDENTITY = Identity(
    "key-secret", "shop", "sell-secret", {"orders": "open-secret"}, {"orders/billing": "billing-secret"}
)


def broker_at(url: str) -> Broker:
    return Broker(
        url,
        api_key="key-secret",
        producer="shop",
        producer_token="sell-secret",
        channel_tokens={"orders": "open-secret"},
        consumer_tokens={"orders/billing": "billing-secret"},
        retries=QUICK,
    )


def test_not_in_a_repr() -> None:
    request = next(publish(IDENTITY, "orders", "x"))
    with broker_at("http://127.0.0.1:1") as broker:
        shown = f"{IDENTITY!r} {request!r} {broker!r}"
    assert not [secret for secret in SECRETS if secret in shown]


def test_not_in_errors_and_logs(small: SmallBroker, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "broker_client")
    small.mishaps.extend([busy(403)] * 4)
    calls: list[Callable[[Broker], object]] = [
        lambda broker: broker.publish("orders", "x"),
        lambda broker: broker.lease("orders", "billing"),
        lambda broker: broker.put_channel("orders"),
    ]
    texts = []
    for url, call in product((small.url, f"http://127.0.0.1:{free_port()}"), calls):
        with broker_at(url) as broker, pytest.raises(BrokerError) as caught:
            call(broker)
        texts.append(f"{caught.value} {caught.value!r}")
    shown = " ".join([*texts, caplog.text])
    assert len(texts) == 6
    assert not [secret for secret in SECRETS if secret in shown]


def test_not_in_the_refusal_of_a_token_that_cannot_be_sent(small: SmallBroker) -> None:
    with (
        Broker(small.url, channel_tokens={"orders": "open-secret\n"}) as broker,
        pytest.raises(ValueError, match="X-Broker-Channel-Token") as caught,
    ):
        broker.publish("orders", "x")
    assert "open-secret" not in str(caught.value)
    assert small.heard == []


def test_an_address_with_a_password_is_refused_without_saying_it() -> None:
    with pytest.raises(ValueError, match="no password") as caught:
        broker_at("http://user:key-secret@127.0.0.1:1")
    assert "key-secret" not in str(caught.value)
