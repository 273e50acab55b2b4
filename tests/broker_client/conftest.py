from collections.abc import Iterator
from typing import Any

import pytest

from broker_client import Broker, Retries
from tests.broker_client.small_broker import SmallBroker, small_broker

TOKENS: dict[str, Any] = {
    "channel_tokens": {"orders": "open-sesame"},
    "consumer_tokens": {"orders/billing": "billing-secret"},
}
QUICK = Retries(first_seconds=0.001, ceiling_seconds=0.01)


@pytest.fixture
def small() -> Iterator[SmallBroker]:
    with small_broker() as running:
        yield running


@pytest.fixture
def broker(small: SmallBroker) -> Iterator[Broker]:
    with Broker(small.url, api_key="key", producer="shop", producer_token="sell", retries=QUICK, **TOKENS) as made:
        yield made
