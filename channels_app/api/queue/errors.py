"""The refusals of this door, in its words."""

from broker_project.lib.errors import BrokerError


class KeyNeeded(BrokerError):
    """Send an API key: Authorization: Bearer <key>."""

    status = 401


class UnknownQueue(BrokerError):
    """There is no queue with this name."""

    status = 404


class QueueExists(BrokerError):
    """There is a queue with this name."""

    status = 409


class NotRegistered(BrokerError):
    """This subscriber is not registered for this queue."""

    status = 404


class AlreadyRegistered(BrokerError):
    """This subscriber is registered for this queue."""

    status = 409


class SeveralQueues(BrokerError):
    """This subscriber is registered for several queues: say which, by queue_name."""

    status = 409


class NotASubscriber(BrokerError):
    """The channel has a consumer with this id, but not one that polls by index."""

    status = 409
