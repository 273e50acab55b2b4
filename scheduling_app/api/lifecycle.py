"""One message for later, by the client's own id: read, changed, cancelled, sent at once."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from broker_project.api.parsers import StrictJSONParser
from broker_project.api.problems import CONTENT_TYPE
from channels_app.selectors import get_channel, get_channel_or_past
from scheduling_app import selectors, services
from scheduling_app.api.item import ItemRefused, read_change
from scheduling_app.api.permissions import ActsOnScheduled, who_acts
from scheduling_app.api.scheduled import ScheduledMessageOut
from scheduling_app.errors import NothingToChange
from scheduling_app.models import ScheduledMessage

CHANGE = {
    "type": "object",
    "additionalProperties": False,
    "minProperties": 1,
    "description": "What is left out stays. `contentType`, `priority` and `headers` of null are as if never given.",
    "properties": {
        "scheduledFor": {"type": "string", "format": "date-time"},
        "payload": {"description": "Either this or `payloadBase64`. What is not a string is sent as its JSON text."},
        "payloadBase64": {"type": "string", "contentEncoding": "base64"},
        "contentType": {"type": ["string", "null"], "minLength": 1, "maxLength": 255},
        "priority": {"type": ["integer", "null"], "minimum": -(2**31), "maximum": 2**31 - 1},
        "headers": {"type": ["object", "null"], "additionalProperties": {"type": "string"}},
    },
}


def refusal(description: str) -> OpenApiResponse:
    return OpenApiResponse({"$ref": "#/components/schemas/Problem"}, description=description)


LATE: dict[Any, Any] = {(409, CONTENT_TYPE): refusal("It was dispatched, cancelled or set aside before.")}
CHANGED: dict[Any, Any] = {
    200: ScheduledMessageOut,
    **LATE,
    (412, CONTENT_TYPE): refusal("The new time is too near, or past."),
    (415, CONTENT_TYPE): refusal("Send JSON."),
}


class ScheduledMessageView(APIView):
    model = ScheduledMessage
    permission_classes = [ActsOnScheduled]
    parser_classes: list[type[BaseParser]] = [StrictJSONParser]

    @extend_schema(operation_id="getScheduledMessage", responses=ScheduledMessageOut, tags=["scheduled messages"])
    def get(self, request: Request, channel_id: str, message_id: str) -> Response:
        """One scheduled message, by the client's own id."""
        message = selectors.get_scheduled_message(get_channel_or_past(channel_id), message_id)
        return Response(ScheduledMessageOut(message).data)

    @extend_schema(
        operation_id="changeScheduledMessage",
        request={"application/json": CHANGE},
        responses=CHANGED,
        tags=["scheduled messages"],
    )
    def patch(self, request: Request, channel_id: str, message_id: str) -> Response:
        """Change a message that still waits: its time, payload, content type, headers, priority.

        By an API key, staff, or the producer who scheduled it with its own and the channel's tokens.
        """
        message = _scheduled(self, channel_id, message_id)
        services.change(message=message, by=who_acts(request), **_change(request.data))
        return Response(ScheduledMessageOut(message).data)

    @extend_schema(
        operation_id="cancelScheduledMessage",
        responses={204: OpenApiResponse(description="Cancelled."), **LATE},
        tags=["scheduled messages"],
    )
    def delete(self, request: Request, channel_id: str, message_id: str) -> Response:
        """Cancel a message that still waits. It stays to be read; its id is not free again.

        By an API key, staff, or the producer who scheduled it with its own and the channel's tokens.
        """
        services.cancel(message=_scheduled(self, channel_id, message_id), by=who_acts(request))
        return Response(status=204)


class DispatchNowView(APIView):
    model = ScheduledMessage
    permission_classes = [ActsOnScheduled]

    @extend_schema(
        operation_id="dispatchScheduledMessageNow",
        request=None,
        responses={202: ScheduledMessageOut, **LATE},
        tags=["scheduled messages"],
    )
    def post(self, request: Request, channel_id: str, message_id: str) -> Response:
        """Send a message that still waits at once, whatever its time is.

        By an API key, staff, or the producer who scheduled it with its own and the channel's tokens.
        """
        message = _scheduled(self, channel_id, message_id)
        services.dispatch_now(message=message, by=who_acts(request))
        return Response(ScheduledMessageOut(message).data, status=202)


def _scheduled(view: APIView, channel_id: str, message_id: str) -> ScheduledMessage:
    message = selectors.get_scheduled_message(get_channel(channel_id), message_id)
    view.check_object_permissions(view.request, message)
    return message


def _change(data: Any) -> dict[str, Any]:
    """By column; a refusal names its field."""
    try:
        values = read_change(data)
    except ItemRefused as refused:
        error = refused.error
        error.errors = [{"field": refused.field, "code": error.code, "detail": error.detail}]
        raise error from None
    if not values:
        raise NothingToChange
    return values
