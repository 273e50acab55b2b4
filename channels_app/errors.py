"""The refusals of this app; each docstring is what the caller is told."""

from datetime import UTC, datetime
from typing import Any

from broker_project.lib.errors import BrokerError


class UnknownChannel(BrokerError):
    """There is no such channel."""

    status = 404


class UnknownProducer(BrokerError):
    """There is no such producer."""

    status = 404


class UnknownConsumer(BrokerError):
    """This channel has no such consumer."""

    status = 404


class UnknownMessage(BrokerError):
    """This channel has no such message."""

    status = 404


class MessagePruned(BrokerError):
    """This message was pruned: it is no longer here, its history is in the lake."""

    status = 410

    def __init__(self, pruned_at: datetime, *, lake: dict[str, Any] | None, was_for_later: bool) -> None:
        """`lake`: where in it, if it can be said. `was_for_later`: it had not been dispatched."""
        moment = pruned_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        super().__init__(f"This message was pruned at {moment}: it is no longer here, its history is in the lake.")
        self.members = {"lake": lake} if lake else {}
        self.was_for_later = was_for_later


class UnknownJob(BrokerError):
    """This consumer has no such job."""

    status = 404


class ChannelExists(BrokerError):
    """There is a channel with this id."""

    status = 409


class ConsumerExists(BrokerError):
    """This channel has a consumer with this id."""

    status = 409


class InvalidId(BrokerError):
    """An id is 1 to 255 of A-Z a-z 0-9 . _ ~ -"""


class WrongToken(BrokerError):
    """The token does not open this."""

    status = 403


class RateMissing(BrokerError):
    """A rate limit with a burst needs a rate."""


class CallbackUrlMissing(BrokerError):
    """A push consumer needs a callbackUrl."""


class MessageInFlight(BrokerError):
    """The message is being delivered at this moment, and nothing was changed: try again when it has ended."""

    status = 409


class EgressDenied(BrokerError):
    """Messages may not be sent to this callbackUrl: its address is not public, and EGRESS_ALLOW does not name it."""


class UnknownOperation(BrokerError):
    """There is no such operation."""

    status = 404


class OperationEnded(BrokerError):
    """This operation has ended: there is nothing to stop."""

    status = 409


class OperationNotStopped(BrokerError):
    """Only an operation that was stopped or has failed can be resumed."""

    status = 409
