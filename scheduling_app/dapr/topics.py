"""A topic is a channel. Its name is the channel's id, where an id may be so; every other byte is written ~XX."""

import re

from broker_project.lib import tilde_ids
from broker_project.lib.patterns import PUBLIC_ID
from scheduling_app.dapr.errors import TopicNameEmpty, TopicNameInvalid

_PLAIN = re.compile(r"[A-Za-z0-9._-]{1,255}")


def channel_id_of(topic: str) -> str:
    """The id of the topic's channel; `topic_of` is the way back."""
    if _PLAIN.fullmatch(topic):
        return topic
    if not topic:
        raise TopicNameEmpty
    written = tilde_ids.written(topic)
    if "\x00" in topic or not PUBLIC_ID.fullmatch(written):
        raise TopicNameInvalid
    return written


def topic_of(channel_id: str) -> str:
    return tilde_ids.read(channel_id)
