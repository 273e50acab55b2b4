"""Whom the cases of alerts are about."""

import pytest

from channels_app.models import Channel, Consumer, Producer
from tests.channels_app.registry import make_channel, make_consumer, make_producer


@pytest.fixture
def producer(db: None) -> Producer:
    return make_producer()


@pytest.fixture
def channel(db: None) -> Channel:
    return make_channel()


@pytest.fixture
def consumer(channel: Channel) -> Consumer:
    return make_consumer(channel, token="mine")
