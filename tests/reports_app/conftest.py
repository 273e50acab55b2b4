"""Whom the cases of pruning are about."""

import pytest

from channels_app.models import Channel, Consumer
from tests.channels_app.registry import make_channel, make_consumer


@pytest.fixture
def channel(db: None) -> Channel:
    return make_channel(retention_days=30)


@pytest.fixture
def consumer(channel: Channel) -> Consumer:
    return make_consumer(channel)
