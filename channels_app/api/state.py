"""What the engine does with a channel or a consumer, shown and changed: pause, resume, a new signing secret."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from broker_project.api.fields import In, Number
from channels_app import selectors, services
from channels_app.api.permissions import IsManager, sees_secrets
from channels_app.api.shapes import ChannelOut, ConsumerOut
from channels_app.models import Channel, Consumer

MAX_OVERLAP_SECONDS = 30 * 24 * 3600
DEFAULT_OVERLAP_SECONDS = 24 * 3600.0


class RotateIn(In):
    """For how long the secret before signs along; a day if not said."""

    overlapSeconds = Number(
        source="overlap_seconds", min_value=0, max_value=MAX_OVERLAP_SECONDS, required=False, allow_null=True
    )


class PauseChannelView(APIView):
    model = Channel
    permission_classes = [IsManager]

    @extend_schema(operation_id="pauseChannel", request=None, responses=ChannelOut, tags=["delivery"])
    def post(self, request: Request, channel_id: str) -> Response:
        """Stop sending to every consumer of the channel. Messages are accepted, jobs wait."""
        channel = selectors.get_channel(channel_id)
        services.pause(channel)
        return _show(ChannelOut, channel, request)


class ResumeChannelView(APIView):
    model = Channel
    permission_classes = [IsManager]

    @extend_schema(operation_id="resumeChannel", request=None, responses=ChannelOut, tags=["delivery"])
    def post(self, request: Request, channel_id: str) -> Response:
        """Send again. Consumers that are paused themselves stay so."""
        channel = selectors.get_channel(channel_id)
        services.resume(channel)
        return _show(ChannelOut, channel, request)


class PauseConsumerView(APIView):
    model = Consumer
    permission_classes = [IsManager]

    @extend_schema(operation_id="pauseConsumer", request=None, responses=ConsumerOut, tags=["delivery"])
    def post(self, request: Request, channel_id: str, consumer_id: str) -> Response:
        """Stop sending to the consumer. Its jobs wait, and none is lost; within a second nothing more goes out."""
        consumer = selectors.get_consumer(selectors.get_channel(channel_id), consumer_id)
        services.pause(consumer)
        return _show(ConsumerOut, consumer, request)


class ResumeConsumerView(APIView):
    model = Consumer
    permission_classes = [IsManager]

    @extend_schema(operation_id="resumeConsumer", request=None, responses=ConsumerOut, tags=["delivery"])
    def post(self, request: Request, channel_id: str, consumer_id: str) -> Response:
        """Send again, whatever stopped it: a pause, a 410 answer, an open breaker."""
        consumer = selectors.get_consumer(selectors.get_channel(channel_id), consumer_id)
        services.resume(consumer)
        return _show(ConsumerOut, consumer, request)


class RotateSecretView(APIView):
    model = Consumer
    permission_classes = [IsManager]

    @extend_schema(operation_id="rotateSigningSecret", request=RotateIn, responses=ConsumerOut, tags=["delivery"])
    def post(self, request: Request, channel_id: str, consumer_id: str) -> Response:
        """Make a new signing secret. Deliveries carry a signature of both until the old one's time is over."""
        incoming = RotateIn(data=request.data)
        incoming.is_valid(raise_exception=True)
        seconds = incoming.validated_data.get("overlap_seconds")
        consumer = selectors.get_consumer(selectors.get_channel(channel_id), consumer_id)
        services.rotate_secret(consumer, overlap_seconds=DEFAULT_OVERLAP_SECONDS if seconds is None else seconds)
        return _show(ConsumerOut, consumer, request)


def _show(shape: type[ChannelOut | ConsumerOut], row: Channel | Consumer, request: Request) -> Response:
    return Response(shape(row, context={"secrets": sees_secrets(request)}).data)
