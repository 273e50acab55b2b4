"""Topics and their channels' ids, there and back."""

import pytest

from broker_project.lib.patterns import PUBLIC_ID
from scheduling_app.dapr.errors import TopicNameEmpty, TopicNameInvalid
from scheduling_app.dapr.topics import channel_id_of, topic_of


@pytest.mark.parametrize(
    ("topic", "channel_id"),
    [
        ("orders", "orders"),
        ("Orders.v1_new-2", "Orders.v1_new-2"),
        ("shop/orders", "shop~2Forders"),
        ("~", "~7E"),
        ("~2F", "~7E2F"),
        ("ü b", "~C3~BC~20b"),
    ],
)
def test_a_topic_is_a_channel_and_back(topic: str, channel_id: str) -> None:
    assert channel_id_of(topic) == channel_id
    assert PUBLIC_ID.fullmatch(channel_id)
    assert topic_of(channel_id) == topic


def test_a_channel_of_another_door_keeps_its_name() -> None:
    assert topic_of("~home~ZZ") == "~home~ZZ"


def test_an_empty_topic_and_one_too_long_are_refused() -> None:
    with pytest.raises(TopicNameEmpty):
        channel_id_of("")
    for topic in ("x" * 256, "/" * 86, "a\x00"):
        with pytest.raises(TopicNameInvalid):
            channel_id_of(topic)
    assert len(channel_id_of("/" * 85)) == 255
