"""What can be said against a message for later, whoever asks."""

from broker_project.lib.errors import BrokerError


class UnknownScheduledMessage(BrokerError):
    """This channel has no scheduled message with this id."""

    status = 404


class AlreadyDispatched(BrokerError):
    """This message was dispatched already."""

    status = 409


class AlreadyCancelled(BrokerError):
    """This message was cancelled."""

    status = 409


class SetAside(BrokerError):
    """This message could not be dispatched and was set aside."""

    status = 409


class AnotherProducersMessage(BrokerError):
    """Another producer has scheduled this message."""

    status = 403


class NothingToChange(BrokerError):
    """Say what is to be changed: scheduledFor, payload or payloadBase64, contentType, headers, priority."""
