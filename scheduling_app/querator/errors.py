"""The refusals of this door, with Querator's codes; each docstring is what the caller is told."""

from broker_project.lib.errors import BrokerError

OK, TRY_AGAIN, UNREADABLE = 200, 454, 455
CODE_TEXTS = {
    OK: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    409: "Conflict",
    429: "Too Many Requests",
    453: "Request Failed",
    TRY_AGAIN: "Retry Request",
    UNREADABLE: "Client Content Error",
    500: "Internal Service Error",
    501: "Not Implemented",
}


class InvalidOption(BrokerError):
    """An option is not valid."""


class NoKey(BrokerError):
    """An API key is needed: Authorization: Bearer, and the key."""

    status = 401


class UnknownQueue(BrokerError):
    """The queue does not exist."""

    status = 404

    def __init__(self, name: str) -> None:
        super().__init__(f"queue does not exist; there is no queue named '{name}'")


class QueueExists(BrokerError):
    """The queue already exists."""

    status = 409

    def __init__(self, name: str) -> None:
        super().__init__(f"invalid queue; '{name}' already exists")


class QueueInUse(BrokerError):
    """The queue is the dead queue of another, which must be changed first."""

    status = 409


class ChangedMeanwhile(BrokerError):
    """The queue was changed by somebody else at the same time; nothing was changed here."""

    status = TRY_AGAIN


class DuplicateClient(BrokerError):
    """duplicate client id; this client waits for items of this queue already"""

    status = 409


class NotLeased(BrokerError):
    """The item is not leased, or no longer under this id. Nothing was changed."""

    status = 409


class NothingCame(BrokerError):
    """request timeout; no items are in the queue, try again"""

    status = TRY_AGAIN


class TookTooLong(BrokerError):
    """request timeout; it is not known whether the items were stored, try again"""

    status = TRY_AGAIN


class NotStored(BrokerError):
    """An id that was made for an item is taken; nothing was stored, try again"""

    status = TRY_AGAIN


class UnreadableContent(BrokerError):
    """The body is not the JSON that this call takes."""

    status = UNREADABLE


class NoSuchCall(BrokerError):
    """There is no such call."""

    status = 501
