"""Messages for later, read over HTTP: what one looks like, the list, and how the partitions stand."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from broker_project.api.pagination import page
from broker_project.api.schema import PAGED
from broker_project.lib.errors import BrokerError
from channels_app.api.permissions import OpensChannel
from channels_app.api.shapes import ListOut
from channels_app.selectors import get_channel_or_past
from scheduling_app import selectors
from scheduling_app.api.locations import location
from scheduling_app.models import ScheduledMessage, ScheduledStatus

# Words and codes.
STATUSES = {word: one.value for one in ScheduledStatus for word in (one.name, str(one.value))}


class UnknownScheduledStatus(BrokerError):
    """A status is SCHEDULED, DISPATCHED, CANCELLED or SET_ASIDE, or its code 100 to 103."""


class ScheduledMessageOut(serializers.Serializer[ScheduledMessage]):
    """A payload that is not UTF-8 comes as `payloadBase64`."""

    id = serializers.CharField()
    messageId = serializers.CharField(source="message_id")
    contentType = serializers.CharField(source="content_type")
    priority = serializers.IntegerField()
    producedBy = serializers.CharField(source="producer.name")
    dispatchSchedule = serializers.DateTimeField(source="scheduled_for")
    dispatchedDate = serializers.DateTimeField(source="dispatched_at", allow_null=True)
    status = serializers.ChoiceField(choices=ScheduledStatus.names, source="status_name")
    payload = serializers.CharField(source="payload_text", required=False)
    payloadBase64 = serializers.CharField(source="payload_base64", required=False)
    headers = serializers.DictField(source="header_texts", child=serializers.CharField())

    def to_representation(self, message: ScheduledMessage) -> dict[str, Any]:
        shown = super().to_representation(message)
        absent = "payload" if message.payload_text is None else "payloadBase64"
        return {name: value for name, value in shown.items() if name != absent}


class PartitionOut(serializers.Serializer[selectors.PartitionStatus]):
    partition = serializers.IntegerField()
    depth = serializers.IntegerField()
    oldestDueAt = serializers.DateTimeField(source="oldest_due_at", allow_null=True)
    lagSeconds = serializers.FloatField(source="lag_seconds")


class PartitionsOut(serializers.Serializer[Any]):
    result = PartitionOut(many=True)


class ScheduledMessagesView(APIView):
    permission_classes = [OpensChannel]

    @extend_schema(
        operation_id="listScheduledMessages",
        parameters=[*PAGED, OpenApiParameter("status", str, many=True, description="Words or codes, repeatable.")],
        responses=ListOut,
        tags=["scheduled messages"],
    )
    def get(self, request: Request, channel_id: str) -> Response:
        """The scheduled messages of a channel, newest first."""
        channel = get_channel_or_past(channel_id)
        rows = ScheduledMessage.objects.filter(channel=channel, **_status_filter(request)).only("message_id")
        return Response(page(request, rows, lambda row: location(channel_id, row.message_id, scheduled=True)))


class ScheduledPartitionsView(APIView):
    permission_classes = [OpensChannel]

    @extend_schema(operation_id="getScheduledPartitions", responses=PartitionsOut, tags=["scheduled messages"])
    def get(self, request: Request, channel_id: str) -> Response:
        """Of each partition: how many wait, when the first is due, and how late that is."""
        channel = get_channel_or_past(channel_id)
        return Response(PartitionsOut({"result": selectors.partitions_status(channel)}).data)


def _status_filter(request: Request) -> dict[str, Any]:
    words = [word.upper() for word in request.query_params.getlist("status")]
    if not words:
        return {}
    if not set(words) <= STATUSES.keys():
        raise UnknownScheduledStatus
    return {"status__in": {STATUSES[word] for word in words}}
