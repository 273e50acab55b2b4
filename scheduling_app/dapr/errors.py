"""What Dapr's clients are told: the errors of its pub/sub API, by its own names."""

from typing import Any

from broker_project.lib.errors import BrokerError

_ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"


class DaprError(BrokerError):
    """The request cannot be understood."""

    error_code = "ERR_MALFORMED_REQUEST"
    reason = "DAPR_MALFORMED_REQUEST"
    grpc_code = "INVALID_ARGUMENT"

    def __init__(self, detail: str = "", **metadata: str) -> None:
        super().__init__(detail)
        self.metadata = metadata

    @property
    def info(self) -> dict[str, Any]:
        """google.rpc.ErrorInfo, as JSON writes it."""
        return {"@type": _ERROR_INFO, "reason": self.reason, "domain": "dapr.io", "metadata": self.metadata}

    def as_json(self) -> dict[str, Any]:
        return {"errorCode": self.error_code, "message": self.detail, "details": [self.info]}


class Unauthenticated(DaprError):
    """The dapr-api-token is missing, or opens nothing."""

    status = 401
    error_code = "ERR_UNAUTHENTICATED"
    reason = "DAPR_API_TOKEN_INVALID"
    grpc_code = "UNAUTHENTICATED"


class InvalidAppId(DaprError):
    """An app id is 1 to 255 of A-Z a-z 0-9 . _ ~ -"""

    error_code = "ERR_APP_ID_INVALID"
    reason = "DAPR_APP_ID_INVALID"


class PubsubNotFound(DaprError):
    """There is no such pubsub component."""

    status = 404
    error_code = "ERR_PUBSUB_NOT_FOUND"
    reason = "DAPR_PUBSUB_NOT_FOUND"
    grpc_code = "NOT_FOUND"


class TopicNameEmpty(DaprError):
    """The name of the topic is empty."""

    status = 404
    error_code = "ERR_TOPIC_NAME_EMPTY"
    reason = "DAPR_PUBSUB_TOPIC_NAME_EMPTY"


class TopicNameInvalid(DaprError):
    """The name of the topic has a NUL, or is too long for a channel's id, in which a special character takes three."""

    error_code = "ERR_TOPIC_NAME_INVALID"
    reason = "DAPR_PUBSUB_TOPIC_NAME_INVALID"


class TopicIsListing(TopicNameInvalid):
    """This is the name of a listing of delayed messages, and no topic's."""

    reason = "DAPR_PUBSUB_TOPIC_IS_DELAYED_LISTING"


class PubsubForbidden(DaprError):
    """There is no such topic, and this component makes none."""

    status = 403
    error_code = "ERR_PUBSUB_FORBIDDEN"
    reason = "DAPR_PUBSUB_FORBIDDEN"
    grpc_code = "PERMISSION_DENIED"


class InvalidMetadata(DaprError):
    """The metadata of this request cannot be understood."""

    error_code = "ERR_PUBSUB_REQUEST_METADATA"
    reason = "DAPR_PUBSUB_METADATA_DESERIALIZATION"


class DelayRefused(InvalidMetadata):
    """This component has delayed messaging off: set enableDelayedMessaging, or leave the time out."""

    reason = "DAPR_PUBSUB_DELAYED_MESSAGING_DISABLED"


class EventsUnreadable(DaprError):
    """The entries of a bulk request are an array of objects, each with an entryId of its own."""

    error_code = "ERR_PUBSUB_EVENTS_SER"
    reason = "DAPR_PUBSUB_UNMARSHAL_EVENTS"


class CloudEventUnreadable(DaprError):
    """This is not a CloudEvent, or none can be made of it."""

    status = 500
    error_code = "ERR_PUBSUB_CLOUD_EVENTS_SER"
    reason = "DAPR_PUBSUB_CLOUD_EVENT_CREATION"


class PayloadTooLarge(DaprError):
    """The event is larger than one message may be."""

    status = 413
    error_code = "ERR_PUBSUB_PUBLISH_MESSAGE"
    reason = "DAPR_PUBSUB_PUBLISH_MESSAGE"
    grpc_code = "RESOURCE_EXHAUSTED"


class TooManyEvents(PayloadTooLarge):
    """The bulk request has more entries than this address takes."""


class PublishFailed(DaprError):
    """The message could not be stored."""

    status = 500
    error_code = "ERR_PUBSUB_PUBLISH_MESSAGE"
    reason = "DAPR_PUBSUB_PUBLISH_MESSAGE"
    grpc_code = "INTERNAL"


class SubscribeFailed(DaprError):
    """The subscription has ended, or could not begin."""

    status = 500
    error_code = "ERR_PUBSUB_SUBSCRIBE"
    reason = "DAPR_PUBSUB_SUBSCRIBE"
    grpc_code = "INTERNAL"


class DoorFailed(DaprError):
    """The broker could not answer."""

    status = 500
    error_code = "ERR_INTERNAL"
    reason = "DAPR_INTERNAL"
    grpc_code = "INTERNAL"


_GRPC = {401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ALREADY_EXISTS"}
_GRPC |= {413: "RESOURCE_EXHAUSTED", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}


def as_dapr(error: BrokerError, family: type[DaprError] = PublishFailed) -> DaprError:
    """A refusal of the broker's own (a limit, a database that is away) in Dapr's shape, with its status.

    The family is that of what was asked for; what is wrong with the request as such is told the same everywhere.
    """
    if isinstance(error, DaprError):
        return error
    told = _kind(error.status, family)(error.detail, code=error.code)
    told.status = error.status
    told.retry_after_seconds = error.retry_after_seconds
    told.grpc_code = _GRPC.get(error.status, "INVALID_ARGUMENT")
    return told


def _kind(status: int, family: type[DaprError]) -> type[DaprError]:
    if status in (401, 403):
        return Unauthenticated
    return family if status >= 500 or status in (404, 409, 413, 429) else DaprError
