import asyncio

import pytest

from channels_app.models import Channel, Consumer
from channels_app.models.channel import Answers
from channels_app.models.consumer import ConsumerType
from scheduling_app.dapr.caller import AppIdForbidden, caller_of
from scheduling_app.dapr.components import ChannelForbidden
from scheduling_app.dapr.errors import TopicNameEmpty, TopicNameInvalid
from scheduling_app.grpc.places import NotSubscribable, Place, place_of
from scheduling_app.models import Component
from tests.channels_app.registry import make_channel, make_consumer, make_producer


@pytest.fixture(autouse=True)
def component(door_threads: None) -> Component:
    return Component.objects.put(name="pubsub", enable_delayed_messaging=False, create_topics=True)


def subscribed(token: str, topic: str, app_id: str = "") -> Place:
    async def subscribe() -> Place:
        return await place_of(await caller_of(token, app_id, ""), pubsub="pubsub", topic=topic)

    return asyncio.run(subscribe())


def test_a_topic_of_a_subscription_is_the_channel_that_it_is_when_published_to(api_key: str) -> None:
    place = subscribed(api_key, "shop/orders", "till")
    assert (place.topic, place.app_id) == ("shop/orders", "till")
    assert Channel.objects.get(pk=place.channel.row_id).public_id == "shop~2Forders"
    assert Consumer.objects.get(pk=place.consumer.row_id).public_id == "till"


@pytest.mark.parametrize(("topic", "error"), [("", TopicNameEmpty), ("a\x00b", TopicNameInvalid)])
def test_a_topic_without_a_legal_name_is_refused_and_nothing_is_made(
    api_key: str, topic: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        subscribed(api_key, topic, "till")
    assert not Channel.objects.exists()


def test_a_producers_token_subscribes_to_no_channel_but_daprs(api_key: str) -> None:
    make_producer("shop", token="sell")
    billing = make_consumer(make_channel("private"), "shop", type=ConsumerType.PULL)
    with pytest.raises(ChannelForbidden):
        subscribed("sell", "private")
    assert subscribed(api_key, "private", "shop").consumer.row_id == billing.pk


def test_a_producer_that_subscribes_is_the_consumer_of_its_own_name() -> None:
    make_producer("shop", token="sell")
    mine = make_consumer(make_channel("orders", answers=Answers.DAPR), "shop", type=ConsumerType.PULL)
    assert subscribed("sell", "orders").consumer.row_id == mine.pk
    with pytest.raises(AppIdForbidden):
        subscribed("sell", "orders", "billing")


def test_a_consumer_that_is_pushed_to_is_nobodys_stream() -> None:
    make_producer("shop", token="sell")
    make_consumer(make_channel("orders", answers=Answers.DAPR), "shop")
    with pytest.raises(NotSubscribable):
        subscribed("sell", "orders")
