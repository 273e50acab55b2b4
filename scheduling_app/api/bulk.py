"""Many messages for later at once: cancel or reschedule all that a filter names, or only count them."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from broker_project.api.fields import Flag, In, Number, Text, Whole
from broker_project.api.parsers import StrictJSONParser
from broker_project.api.problems import CONTENT_TYPE
from broker_project.lib.errors import BrokerError
from broker_project.lib.patterns import PUBLIC_ID, whole
from channels_app.api.operations import OperationOut
from channels_app.api.permissions import IsManager
from channels_app.api.who import who
from channels_app.models import Channel, Operation, Producer
from channels_app.selectors import get_channel
from scheduling_app import selectors, services
from scheduling_app.api.headers import PRIORITIES
from scheduling_app.api.lifecycle import refusal
from scheduling_app.door.later import InvalidScheduledFor, moment, new_moment
from scheduling_app.models import ScheduledMessage

# A hundred years.
MAX_SHIFT_SECONDS = 100 * 366 * 24 * 3600


class FilterMissing(BrokerError):
    """Either a filter that names something, or "all": true."""


class NewTimeMissing(BrokerError):
    """Either to or shiftSeconds."""


@extend_schema_field({"type": "string", "format": "date-time"})
class Moment(serializers.Field[Any, Any, Any, Any]):
    """ISO-8601 with a zone; kept as text, in UTC."""

    def to_internal_value(self, data: Any) -> str:
        try:
            return moment(data).isoformat()
        except InvalidScheduledFor as error:
            raise serializers.ValidationError(error.detail, code=error.code) from None


class ScheduledFilterIn(In):
    """Those that wait and are all of this. `dueFrom` is included, `dueTo` is not."""

    dueFrom = Moment(required=False)
    dueTo = Moment(required=False)
    producer = Text(whole(PUBLIC_ID), required=False)
    idPrefix = Text(whole(PUBLIC_ID), required=False)
    priority = Whole(min_value=PRIORITIES[0], max_value=PRIORITIES[-1], required=False)

    def validate_producer(self, public_id: str) -> str:
        """One that was deleted may still have messages; a name that nobody ever had is an oversight."""
        if not Producer.objects.filter(public_id=public_id).exists():
            raise serializers.ValidationError("There is no such producer.", code="unknown_producer")
        return public_id


class BulkCancelIn(In):
    """An empty filter is an oversight, unless `all` says that it is not. With `dryRun` they are only counted."""

    filter = ScheduledFilterIn(required=False)
    all = Flag(default=False)
    dryRun = Flag(default=False)

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if bool(data.get("filter")) is data["all"]:
            raise FilterMissing
        return data


class BulkRescheduleIn(BulkCancelIn):
    """Either `to`, for all of them, or `shiftSeconds`, which may be negative, for each from its own time."""

    to = Moment(required=False)
    shiftSeconds = Number(min_value=-MAX_SHIFT_SECONDS, max_value=MAX_SHIFT_SECONDS, required=False)

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if ("to" in data) is ("shiftSeconds" in data):
            raise NewTimeMissing
        if "to" in data:
            new_moment(data["to"])
        return super().validate(data)


class DryRunOut(serializers.Serializer[Any]):
    count = serializers.IntegerField()


ANSWERS: dict[Any, Any] = {
    200: OpenApiResponse(DryRunOut, description="With `dryRun`: how many there are. Nothing was changed."),
    202: OpenApiResponse(OperationOut, description="Begun; Location names the operation."),
    (415, CONTENT_TYPE): refusal("Send JSON."),
}


class BulkCancelView(APIView):
    model = ScheduledMessage
    permission_classes = [IsManager]
    parser_classes: list[type[BaseParser]] = [StrictJSONParser]

    @extend_schema(
        operation_id="cancelScheduledMessages", request=BulkCancelIn, responses=ANSWERS, tags=["scheduled messages"]
    )
    def post(self, request: Request, channel_id: str) -> Response:
        """Cancel all scheduled messages that a filter names, as an operation."""
        channel, asked = get_channel(channel_id), _read(BulkCancelIn, request)
        if asked["dryRun"]:
            return _counted(channel, asked)
        return _begun(services.bulk_cancel(channel=channel, chosen=asked["filter"], by=who(request)))


class BulkRescheduleView(APIView):
    model = ScheduledMessage
    permission_classes = [IsManager]
    parser_classes: list[type[BaseParser]] = [StrictJSONParser]

    @extend_schema(
        operation_id="rescheduleScheduledMessages",
        request=BulkRescheduleIn,
        responses={**ANSWERS, (412, CONTENT_TYPE): refusal("The new time is too near, or past.")},
        tags=["scheduled messages"],
    )
    def post(self, request: Request, channel_id: str) -> Response:
        """Give all scheduled messages that a filter names another time, as an operation.

        Those that would be due sooner than the minimum delay allows are left as they are, and counted as failed.
        """
        channel, asked = get_channel(channel_id), _read(BulkRescheduleIn, request)
        if asked["dryRun"]:
            return _counted(channel, asked)
        new_time: dict[str, Any] = {name: asked[name] for name in ("to", "shiftSeconds") if name in asked}
        return _begun(
            services.bulk_reschedule(channel=channel, chosen=asked["filter"], new_time=new_time, by=who(request))
        )


def _read(shape: type[BulkCancelIn], request: Request) -> dict[str, Any]:
    incoming = shape(data=request.data)
    incoming.is_valid(raise_exception=True)
    return {"filter": {}, **incoming.validated_data}


def _counted(channel: Channel, asked: dict[str, Any]) -> Response:
    return Response(DryRunOut({"count": selectors.count_scheduled(channel, asked["filter"])}).data)


def _begun(operation: Operation) -> Response:
    place = f"/operations/{operation.public_id}"
    return Response(OperationOut(operation).data, status=202, headers={"Location": place})
