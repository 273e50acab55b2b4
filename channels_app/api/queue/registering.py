"""Acts on the registry for this door. They are rare and are Django's: a thread does them."""

from typing import Any

from rest_framework.exceptions import ValidationError

from broker_project.api.exceptions import field_errors
from broker_project.lib.errors import BrokerError
from channels_app import services
from channels_app.api.pull.door import InvalidDocument
from channels_app.api.queue.errors import AlreadyRegistered, QueueExists, UnknownQueue
from channels_app.api.shapes import NewChannelIn, NewConsumerIn, RegistryIn
from channels_app.errors import ChannelExists, ConsumerExists, UnknownChannel
from channels_app.models import Channel, Consumer
from channels_app.models.consumer import ConsumerType, PullMode
from channels_app.registry import registry

# Who publishes by this door.
PRODUCER = "queue"
# Our fields, as this door names them.
NAMES = {"callbackUrl": "callback_url", "unackedCap": "unacked_cap", "startFrom": "start_from"}


def create_queue(name: str) -> None:
    values = _values(NewChannelIn(data={"id": name}), id_name="name")
    try:
        services.create(Channel(public_id=values.pop("public_id")), values=values)
    except ChannelExists as error:
        raise QueueExists from error
    registry().refresh()


def register(*, queue_name: str, subscriber_id: str, **fields: Any) -> None:
    """It begins with the next message, or where `start_from` says."""
    channel = Channel.objects.named(queue_name).first()
    if channel is None:
        raise UnknownQueue
    named = {ours: fields[theirs] for ours, theirs in NAMES.items() if theirs in fields}
    kind = {"id": subscriber_id, "type": ConsumerType.PULL, "pullMode": PullMode.INDEX}
    values = _values(NewConsumerIn(data={**named, **kind}), id_name="subscriber_id")
    try:
        services.create(Consumer(channel=channel, public_id=values.pop("public_id")), values=values)
    except ConsumerExists as error:
        raise AlreadyRegistered from error
    except UnknownChannel as error:
        raise UnknownQueue from error
    registry().refresh()


def make_producer() -> None:
    services.ensure_producer(PRODUCER)
    registry().refresh()


def _values(shape: RegistryIn, *, id_name: str) -> dict[str, Any]:
    """The registry's own checks; what they refuse is told under this door's names."""
    names = {**NAMES, "id": id_name}
    try:
        shape.is_valid(raise_exception=True)
    except ValidationError as error:
        raise InvalidDocument(errors=_renamed(field_errors(error.detail), names)) from None
    except BrokerError as error:
        error.errors = _renamed(error.errors, names)
        raise
    return shape.values()


def _renamed(errors: list[dict[str, str]], names: dict[str, str]) -> list[dict[str, str]]:
    return [{**one, "field": names.get(one["field"], one["field"])} for one in errors]
