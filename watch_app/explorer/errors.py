"""What can be said against a test message; each docstring is what staff are told."""

from broker_project.lib.errors import BrokerError


class ConsumerTakesNone(BrokerError):
    """This consumer takes no message of its own: it is deleted, or disabled until it is resumed, or polls by index."""

    status = 409


class NothingToSend(BrokerError):
    """A message needs a payload."""


class PayloadTooLarge(BrokerError):
    """The payload is larger than a message may be."""

    status = 413
