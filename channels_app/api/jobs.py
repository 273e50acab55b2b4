"""Jobs read over HTTP: one with its history, all of a message, and those that a pull consumer would get next."""

from typing import Any

from django.db.models import Prefetch
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from broker_project.api.pagination import read_limit
from broker_project.api.problems import CONTENT_TYPE
from channels_app import selectors
from channels_app.api.messages import AttemptOut
from channels_app.api.permissions import OpensChannel, OpensJobs
from channels_app.api.pull.door import NotPull
from channels_app.models import DeliveryJob, JobStatus, Message
from channels_app.models.consumer import ConsumerType
from channels_app.pull.peek import peek
from channels_app.pull.task import TaskStatus, task_status

NOT_PULL = {
    (412, CONTENT_TYPE): OpenApiResponse(
        {"$ref": "#/components/schemas/Problem"}, description="The consumer is not of type pull."
    )
}
LIMIT = OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": 100}, description="25 if not given.")


class JobStateOut(serializers.Serializer[DeliveryJob]):
    """`receivedAt`, `startedAt` and `deviceId` are of the attempt under way, or of the last."""

    id = serializers.CharField()
    consumer = serializers.CharField(source="consumer.public_id")
    status = serializers.ChoiceField(choices=JobStatus.names, source="status_name")
    statusChangedAt = serializers.DateTimeField(source="status_changed_at")
    reason = serializers.CharField(allow_null=True)
    attempt = serializers.IntegerField()
    failures = serializers.IntegerField()
    deviceId = serializers.CharField(source="device_id", allow_null=True)
    publishedAt = serializers.DateTimeField(source="message.received_at")
    receivedAt = serializers.DateTimeField(source="received_at", allow_null=True)
    startedAt = serializers.DateTimeField(source="started_at", allow_null=True)
    completedAt = serializers.DateTimeField(source="completed_at", allow_null=True)
    deviceStartedAt = serializers.DateTimeField(source="device_started_at", allow_null=True)
    deviceCompletedAt = serializers.DateTimeField(source="device_completed_at", allow_null=True)
    nextAttemptAt = serializers.DateTimeField(source="next_attempt_at", allow_null=True)
    leaseUntil = serializers.DateTimeField(source="lease_until", allow_null=True)


class TriedOut(AttemptOut):
    """A try, and which device it was."""

    deviceId = serializers.CharField(source="device_id", allow_null=True)


class JobHistoryOut(JobStateOut):
    """A job's state, and every try so far."""

    messageId = serializers.CharField(source="message.message_id")
    attempts = TriedOut(many=True)


class TaskOut(serializers.Serializer[Message]):
    """QUEUED until a job is begun, RUNNING until all have ended; then COMPLETE, or FAILED if one is dead."""

    id = serializers.CharField(source="message_id")
    publishedAt = serializers.DateTimeField(source="received_at")
    status = serializers.ChoiceField(choices=list(TaskStatus), source="task_status")
    jobs = JobStateOut(many=True)


class ContentOut(serializers.Serializer[Message]):
    """A payload that is not UTF-8 comes as `payloadBase64`."""

    messageId = serializers.CharField(source="message_id")
    payload = serializers.CharField(source="payload_text", required=False)
    payloadBase64 = serializers.CharField(source="payload_base64", required=False)
    contentType = serializers.CharField(source="content_type")
    headers = serializers.DictField(source="header_texts", child=serializers.CharField())

    def to_representation(self, message: Message) -> dict[str, Any]:
        shown = super().to_representation(message)
        absent = "payload" if message.payload_text is None else "payloadBase64"
        return {name: value for name, value in shown.items() if name != absent}


class PeekedOut(serializers.Serializer[DeliveryJob]):
    id = serializers.CharField()
    priority = serializers.IntegerField()
    attempt = serializers.IntegerField()
    message = ContentOut()


class QueuedJobsOut(serializers.Serializer[Any]):
    result = PeekedOut(many=True)


class JobView(APIView):
    """POST of this address is answered by a door."""

    model = DeliveryJob
    permission_classes = [OpensJobs]

    @property
    def default_response_headers(self) -> dict[str, str]:
        return {**super().default_response_headers, "Allow": ", ".join([*self.allowed_methods, "POST"])}

    @extend_schema(operation_id="getJob", responses=JobHistoryOut, tags=["jobs"])
    def get(self, request: Request, channel_id: str, consumer_id: str, job_id: str) -> Response:
        """One job: its state, who has it, and every try."""
        consumer = selectors.get_consumer(selectors.get_channel(channel_id), consumer_id)
        return Response(JobHistoryOut(selectors.get_job(consumer, job_id)).data)


class QueuedJobsView(APIView):
    permission_classes = [OpensJobs]

    @extend_schema(
        operation_id="peekQueuedJobs",
        parameters=[LIMIT],
        responses={200: QueuedJobsOut, **NOT_PULL},
        tags=["jobs"],
    )
    def get(self, request: Request, channel_id: str, consumer_id: str) -> Response:
        """Look at what a pull consumer would get next, without taking it. Ends at its limit, or at 8 MiB."""
        limit = read_limit(request)
        consumer = selectors.get_consumer(selectors.get_channel(channel_id), consumer_id)
        if consumer.type != ConsumerType.PULL:
            raise NotPull
        return Response(QueuedJobsOut({"result": peek(consumer.pk, most=limit)}).data)


class TaskView(APIView):
    permission_classes = [OpensChannel]

    @extend_schema(operation_id="getTask", responses=TaskOut, tags=["jobs"])
    def get(self, request: Request, channel_id: str, message_id: str) -> Response:
        """A message's state over all its jobs."""
        jobs = DeliveryJob.objects.select_related("consumer").order_by("id")
        channel = selectors.get_channel_or_past(channel_id)
        message: Any = selectors.get_message(channel, message_id, prefetch=[Prefetch("jobs", jobs)])
        message.task_status = task_status(message, message.jobs.all())
        return Response(TaskOut(message).data)
