"""A channel's dead letter policy over HTTP: parse, call one act or read, answer."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from broker_project.api.fields import Flag, In, Whole
from broker_project.api.parsers import StrictJSONParser
from channels_app.api.permissions import IsManager
from channels_app.api.who import who
from channels_app.models.channel import MAX_RETENTION_DAYS
from channels_app.selectors import get_channel
from dlq_app import policies
from dlq_app.api.acts import NOT_JSON
from dlq_app.models import DeadLetterPolicy
from dlq_app.models.policy import MAX_ALERT_AGE_SECONDS, MAX_ALERT_DEPTH

_OPTIONAL: dict[str, Any] = {"required": False, "allow_null": True}


class DeadLetterPolicyIn(In):
    """What is left out keeps its value, null resets it. Alerts come above these numbers."""

    retentionDays = Whole(source="retention_days", min_value=1, max_value=MAX_RETENTION_DAYS, **_OPTIONAL)
    autoRedrive = Flag(source="auto_redrive", **_OPTIONAL)
    alertDepth = Whole(source="alert_depth", min_value=1, max_value=MAX_ALERT_DEPTH, **_OPTIONAL)
    alertAgeSeconds = Whole(source="alert_age_seconds", min_value=1, max_value=MAX_ALERT_AGE_SECONDS, **_OPTIONAL)


class DeadLetterPolicyOut(serializers.Serializer[DeadLetterPolicy]):
    """`retentionDays` null: as long as DEAD_LETTER_RETENTION_DAYS says. An alert that is null is off."""

    retentionDays = serializers.IntegerField(source="retention_days", allow_null=True)
    autoRedrive = serializers.BooleanField(source="auto_redrive")
    alertDepth = serializers.IntegerField(source="alert_depth", allow_null=True)
    alertAgeSeconds = serializers.IntegerField(source="alert_age_seconds", allow_null=True)


class DeadLetterPolicyView(APIView):
    model = DeadLetterPolicy
    permission_classes = [IsManager]
    parser_classes: list[type[BaseParser]] = [StrictJSONParser]

    @extend_schema(operation_id="getDeadLetterPolicy", responses=DeadLetterPolicyOut, tags=["dead letters"])
    def get(self, request: Request, channel_id: str) -> Response:
        """How the channel's dead letters are looked after."""
        return Response(DeadLetterPolicyOut(policies.policy_of(get_channel(channel_id))).data)

    @extend_schema(
        operation_id="putDeadLetterPolicy",
        request=DeadLetterPolicyIn,
        responses={200: DeadLetterPolicyOut, **NOT_JSON},
        tags=["dead letters"],
    )
    def put(self, request: Request, channel_id: str) -> Response:
        """Change how long they are kept, whether they are queued again when a consumer recovers, and alerts."""
        channel = get_channel(channel_id)
        incoming = DeadLetterPolicyIn(data=request.data)
        incoming.is_valid(raise_exception=True)
        policy = policies.put(channel, values=incoming.validated_data, by=who(request))
        return Response(DeadLetterPolicyOut(policy).data)
