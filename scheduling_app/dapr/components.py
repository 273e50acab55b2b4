"""The pubsub components by name, and the channels of their topics."""

from contextlib import suppress
from typing import NamedTuple

from channels_app import services
from channels_app.errors import ChannelExists
from channels_app.known import at_hand, in_thread, known, known_other, surely
from channels_app.models import Channel
from channels_app.models.channel import Answers
from channels_app.registry import Entry, registry
from scheduling_app.dapr.caller import Caller
from scheduling_app.dapr.errors import PublishFailed, PubsubForbidden, PubsubNotFound
from scheduling_app.dapr.topics import topic_of
from scheduling_app.models import Component

MAX_NAME = 255


class ChannelForbidden(PubsubForbidden):
    """This channel is none of Dapr's: at this door an API key opens it, or the setting answers: dapr."""


class Pubsub(NamedTuple):
    """A component as the door needs it."""

    name: str
    enable_delayed_messaging: bool
    create_topics: bool


async def pubsub_named(name: str) -> Pubsub:
    found = await surely(lambda: _known(name)) if len(name) <= MAX_NAME else None
    if found is None:
        raise PubsubNotFound(f"pubsub {name} is not found", pubsub=name)
    return found


async def _known(name: str) -> Pubsub | None:
    found: Pubsub | None = await known_other("dapr_component", name, load=lambda: _found(name))
    return found


def pubsub_at_hand(name: str) -> Pubsub | None:
    reliable, found = registry().at_hand("dapr_component", name)
    return found if reliable else None


async def channel_of(caller: Caller, channel_id: str, pubsub: Pubsub) -> Entry:
    """A topic's channel, made when missing if the component makes topics."""
    found = await surely(lambda: known("channel", channel_id))
    if found is None and not pubsub.create_topics:
        raise PubsubForbidden(pubsub=pubsub.name, topic=topic_of(channel_id))
    channel = found or await in_thread(lambda: _made(channel_id))
    if not _is_open(channel, caller):
        raise ChannelForbidden(pubsub=pubsub.name, topic=topic_of(channel_id))
    return channel


def channel_at_hand(caller: Caller, channel_id: str) -> Entry | None:
    """None as well if it is closed to this caller: the long way says so."""
    channel = at_hand("channel", channel_id)
    return channel if channel is not None and _is_open(channel, caller) else None


def _is_open(channel: Entry, caller: Caller) -> bool:
    """Who is no manager must not get past the tokens that other doors ask for."""
    return caller.key_id is not None or channel.answers == Answers.DAPR


def _found(name: str) -> Pubsub | None:
    row = Component.objects.filter(name=name).first() if "\x00" not in name else None
    return Pubsub(row.name, row.enable_delayed_messaging, row.create_topics) if row else None


def _made(channel_id: str) -> Entry:
    values = {"answers": Answers.DAPR, "name": topic_of(channel_id)}
    with suppress(ChannelExists):
        services.create(Channel(public_id=channel_id), values=values)
    registry().refresh()
    entry = registry().channel(channel_id)
    if entry is None:
        raise PublishFailed("The topic was deleted at this moment.")
    return entry
