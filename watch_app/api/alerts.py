"""Alerts over HTTP: what is wrong now, and what was."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from broker_project.api.pagination import page
from broker_project.api.schema import PAGED
from channels_app.alerts.news import plain
from channels_app.alerts.words import sentence
from channels_app.api.permissions import IsManager
from channels_app.api.shapes import PagesOut
from channels_app.models import Alert, AlertKind
from watch_app.errors import UnknownAlertState

STATES = {"open": True, "over": False}
STATE = OpenApiParameter("state", str, enum=list(STATES), description="Only those that are open, or over.")


class AlertOut(serializers.Serializer[Alert]):
    """One episode. `threshold` and `value` are letters (`depth`), percent (`success_rate`) or seconds."""

    id = serializers.IntegerField(source="pk")
    rule = serializers.CharField()
    kind = serializers.ChoiceField(choices=AlertKind.values)
    channel = serializers.CharField(source="channel.public_id", allow_null=True, default=None)
    consumer = serializers.CharField(source="consumer.public_id", allow_null=True, default=None)
    part = serializers.SerializerMethodField()
    threshold = serializers.SerializerMethodField()
    value = serializers.SerializerMethodField(method_name="began_with")
    text = serializers.SerializerMethodField()
    beganAt = serializers.DateTimeField(source="began_at")
    endedAt = serializers.DateTimeField(source="ended_at", allow_null=True)

    def get_part(self, alert: Alert) -> str | None:
        return alert.part or None

    def get_threshold(self, alert: Alert) -> float:
        return plain(alert.threshold)

    def began_with(self, alert: Alert) -> float:
        return plain(alert.value)

    def get_text(self, alert: Alert) -> str:
        return sentence(alert)


class AlertsOut(serializers.Serializer[Any]):
    result = AlertOut(many=True)
    pages = PagesOut()


class AlertsView(APIView):
    permission_classes = [IsManager]

    @extend_schema(operation_id="listAlerts", parameters=[STATE, *PAGED], responses=AlertsOut, tags=["alerts"])
    def get(self, request: Request) -> Response:
        """Alerts, open and over; first the one whose threshold was crossed last."""
        rows = Alert.objects.begun().named()
        state = request.query_params.get("state")
        if state is not None:
            if state not in STATES:
                raise UnknownAlertState
            rows = rows.filter(ended_at__isnull=STATES[state])
        return Response(page(request, rows, lambda row: AlertOut(row).data))
