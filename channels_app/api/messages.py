"""Messages and their jobs, read over HTTP."""

from typing import Any

from django.db.models import Prefetch
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from broker_project.api.pagination import page
from broker_project.api.problems import CONTENT_TYPE
from broker_project.api.schema import PAGED
from broker_project.lib.errors import BrokerError
from channels_app import selectors, services
from channels_app.api.authentication import KeyHolder
from channels_app.api.permissions import IsManager, OpensChannel, sees_secrets
from channels_app.api.shapes import ListOut
from channels_app.models import ApiKey, DeliveryAttempt, DeliveryJob, JobStatus, Message, MessageStatus

# Words and codes; 102 is what older clients call dispatched.
STATUSES = {"ACKNOWLEDGED": 100, "100": 100, "DISPATCHED": 101, "101": 101, "102": 101}


MAX_WHO = 255
EXPUNGED = {
    204: OpenApiResponse(description="Expunged."),
    (409, CONTENT_TYPE): OpenApiResponse(
        {"$ref": "#/components/schemas/Problem"}, description="It is being delivered right now: try again."
    ),
}


class UnknownStatus(BrokerError):
    """A status is ACKNOWLEDGED, DISPATCHED, or its code 100, 101."""


class AttemptOut(serializers.Serializer[DeliveryAttempt]):
    attempt = serializers.IntegerField()
    statusCode = serializers.IntegerField(source="status_code", allow_null=True)
    reason = serializers.CharField(allow_null=True)
    error = serializers.CharField()
    answer = serializers.CharField()
    durationMs = serializers.IntegerField(source="duration_ms")
    finishedAt = serializers.DateTimeField(source="finished_at")


class JobOut(serializers.Serializer[DeliveryJob]):
    """`listenerEndpoint` is left out where secrets are."""

    id = serializers.CharField()
    consumer = serializers.CharField(source="consumer.public_id")
    listenerName = serializers.CharField(source="consumer.name")
    listenerEndpoint = serializers.CharField(source="consumer.callback_url", required=False)
    status = serializers.ChoiceField(choices=JobStatus.names, source="status_name")
    statusChangedAt = serializers.DateTimeField(source="status_changed_at")
    reason = serializers.CharField(allow_null=True)
    attempt = serializers.IntegerField()
    failures = serializers.IntegerField()
    nextAttemptAt = serializers.DateTimeField(source="next_attempt_at", allow_null=True)
    expiresAt = serializers.DateTimeField(source="expires_at")
    attempts = AttemptOut(many=True)

    def to_representation(self, job: DeliveryJob) -> dict[str, Any]:
        shown = super().to_representation(job)
        if not self.context.get("secrets"):
            del shown["listenerEndpoint"]
        return shown


class MessageOut(serializers.Serializer[Message]):
    """A payload that is not UTF-8 comes as `payloadBase64`; one that was expunged is empty."""

    id = serializers.CharField(source="message_id")
    payload = serializers.CharField(source="payload_text", required=False)
    payloadBase64 = serializers.CharField(source="payload_base64", required=False)
    contentType = serializers.CharField(source="content_type")
    producedBy = serializers.CharField(source="producer.name")
    receivedAt = serializers.DateTimeField(source="received_at")
    dispatchedAt = serializers.DateTimeField(source="dispatched_at", allow_null=True)
    expungedAt = serializers.DateTimeField(source="expunged_at", allow_null=True)
    status = serializers.ChoiceField(choices=MessageStatus.names, source="status_name")
    priority = serializers.IntegerField()
    headers = serializers.DictField(source="header_texts", child=serializers.CharField())
    jobs = JobOut(many=True)

    def to_representation(self, message: Message) -> dict[str, Any]:
        shown = super().to_representation(message)
        absent = "payload" if message.payload_text is None else "payloadBase64"
        return {name: value for name, value in shown.items() if name != absent}


class JobCountsOut(serializers.Serializer[Any]):
    """channel -> consumer -> state -> how many."""

    counts = serializers.DictField(
        child=serializers.DictField(child=serializers.DictField(child=serializers.IntegerField()))
    )


class MessagesView(APIView):
    permission_classes = [OpensChannel]

    @extend_schema(
        operation_id="listMessages",
        parameters=[*PAGED, OpenApiParameter("status", str, many=True, description="Words or codes, repeatable.")],
        responses=ListOut,
        tags=["messages"],
    )
    def get(self, request: Request, channel_id: str) -> Response:
        """The messages of a channel, newest first."""
        channel = selectors.get_channel_or_past(channel_id)
        rows = Message.objects.filter(channel=channel, **_status_filter(request)).only("message_id")
        return Response(page(request, rows, lambda row: f"/channel/{channel_id}/message/{row.message_id}"))


class MessageView(APIView):
    model = Message
    permission_classes = [OpensChannel]

    @extend_schema(operation_id="getMessage", responses=MessageOut, tags=["messages"])
    def get(self, request: Request, channel_id: str, message_id: str) -> Response:
        """One message with its jobs and every attempt."""
        jobs = DeliveryJob.objects.select_related("consumer").order_by("id")
        attempts = Prefetch("attempts", DeliveryAttempt.objects.order_by("id"))
        channel = selectors.get_channel_or_past(channel_id)
        message = selectors.get_message(
            channel, message_id, prefetch=[Prefetch("jobs", jobs.prefetch_related(attempts))]
        )
        return Response(MessageOut(message, context={"secrets": sees_secrets(request)}).data)

    @extend_schema(operation_id="expungeMessage", responses=EXPUNGED, tags=["messages"])
    def delete(self, request: Request, channel_id: str, message_id: str) -> Response:
        """Expunge a message: its payload is gone for good, what waits is not sent, its history stays."""
        message = selectors.get_message(selectors.get_channel_or_past(channel_id), message_id)
        services.expunge(message=message, by=who(request))
        return Response(status=204)


class JobStatusView(APIView):
    permission_classes = [IsManager]

    @extend_schema(operation_id="getJobStatus", responses=JobCountsOut, tags=["messages"])
    def get(self, request: Request) -> Response:
        """Counts of jobs by channel, consumer and state, from counters."""
        return Response({"counts": selectors.job_counts()})


def who(request: Request) -> str:
    """For the record: the key by its first letters, which are shown in the admin too, or the member of staff."""
    if isinstance(request.auth, KeyHolder):
        key = ApiKey.objects.get(pk=request.auth.key_id)
        return f"api key {key.hint} ({key.name})"[:MAX_WHO]
    return str(request.user.get_username())


def _status_filter(request: Request) -> dict[str, Any]:
    words = [word.upper() for word in request.query_params.getlist("status")]
    if not words:
        return {}
    if not set(words) <= STATUSES.keys():
        raise UnknownStatus
    return {"status__in": {STATUSES[word] for word in words}}
