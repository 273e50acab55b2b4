"""A listing of delayed messages is no topic."""

import asyncio

import pytest

from channels_app.models import Channel
from channels_app.registry import Entry
from scheduling_app.dapr.caller import Caller
from scheduling_app.dapr.cloudevents import Trace
from scheduling_app.dapr.components import Pubsub
from scheduling_app.dapr.errors import InvalidMetadata, TopicIsListing
from scheduling_app.dapr.event import Event, read
from scheduling_app.dapr.listings import refuse_listing
from tests.channels_app.registry import make_channel, make_producer

pytestmark = pytest.mark.django_db(transaction=True)

SHOP = Caller("shop", "", Entry(1, "token"))


def ask(topic: str, caller: Caller = SHOP) -> None:
    asyncio.run(refuse_listing(caller, topic, topic))


@pytest.mark.parametrize(
    ("topic", "caller"),
    [
        ("shop-delayed", SHOP),
        ("shop-delayed", Caller("shop", "prod", Entry(1, ""))),
        ("shopprod-delayed", Caller("shop", "prod", Entry(1, ""))),
        ("bank-delayed", SHOP),
    ],
)
def test_it_is_refused_before_a_channel_is_made_of_it(topic: str, caller: Caller) -> None:
    make_producer("bank")
    with pytest.raises(TopicIsListing, match=f"/v1.0/delayed/{topic}"):
        ask(topic, caller)
    assert not Channel.objects.exists()


def test_a_topic_that_only_looks_so_is_one() -> None:
    make_channel("shop-delayed")
    for topic in ("shop-delayed", "orders-delayed", "-delayed", "shop"):
        ask(topic)


@pytest.mark.parametrize("entry_id", ["x" * 256, "a\x00", "\ud800"])
def test_an_entry_id_that_cannot_be_kept_is_refused_for_later_only(entry_id: str) -> None:
    pubsub = Pubsub("later", enable_delayed_messaging=True, create_topics=True)
    event = Event(pubsub, "orders", b"1", "application/json", {}, Trace("", ""), entry_id)
    assert read(SHOP, event).asked is None
    with pytest.raises(InvalidMetadata):
        read(SHOP, event._replace(metadata={"deliverAfter": "1h"}))
