"""What can be said against an act on dead letters, whoever asks."""

from broker_project.lib.errors import BrokerError


class UnknownLetter(BrokerError):
    """There is no such dead letter."""

    status = 404


class InvalidFilter(BrokerError):
    """This is not something that dead letters can be filtered by."""


class ChannelMissing(BrokerError):
    """A consumer is named within its channel: say which."""


class NothingToEdit(BrokerError):
    """Say what is to be changed: payload or payloadBase64, contentType, headers."""


class PayloadTooLarge(BrokerError):
    """The payload is larger than a message may be."""

    status = 413


class NotDead(BrokerError):
    """This job is not dead."""

    status = 409


class LetterNotKept(BrokerError):
    """This channel keeps no dead letters: the job was counted, and that is all."""

    status = 409


class AlreadyResolved(BrokerError):
    """This dead letter was resolved already."""

    status = 409


class ChannelGone(BrokerError):
    """Its channel was deleted: there is nowhere to send it."""

    status = 409


class ConsumerGone(BrokerError):
    """Its consumer was deleted: there is nobody to send it to."""

    status = 409


class MessageExpunged(BrokerError):
    """Its message was expunged: there is nothing left to send."""

    status = 409


class PolledByIndex(BrokerError):
    """Its consumer polls by index: let it seek back."""

    status = 409


class RequeuedTooOften(BrokerError):
    """It was queued again as often as DLQ_MAX_REPLAYS allows, in vain: edit it, or discard it."""

    status = 409


class EditedIdTaken(BrokerError):
    """This channel has a message already under the id that the edited one would get."""

    status = 409
