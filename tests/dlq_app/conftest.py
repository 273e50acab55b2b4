"""What most cases here are about: a channel with one consumer, and somebody who publishes."""

from collections.abc import Iterator

import pytest

from channels_app.models import Channel, Consumer, Producer
from channels_app.operations import kinds
from tests.channels_app.registry import make_channel, make_consumer, make_producer


@pytest.fixture
def producer(db: None) -> Producer:
    return make_producer()


@pytest.fixture
def channel(db: None) -> Channel:
    return make_channel()


@pytest.fixture
def consumer(channel: Channel) -> Consumer:
    return make_consumer(channel)


@pytest.fixture(autouse=True)
def same_kinds() -> Iterator[None]:
    """A test may register a kind with a clock of its own."""
    before = dict(kinds._kinds)
    yield
    kinds._kinds.update(before)
