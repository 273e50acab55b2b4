"""Operations over HTTP: how far they are, stop, resume."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from broker_project.api.pagination import page
from broker_project.api.problems import CONTENT_TYPE
from broker_project.api.schema import PAGED
from channels_app.api.permissions import IsManager
from channels_app.api.shapes import PagesOut
from channels_app.api.who import who
from channels_app.models import Operation, OperationStatus
from channels_app.operations import acts
from channels_app.selectors import get_operation


class OperationOut(serializers.Serializer[Operation]):
    """`total` is as counted when it began; null: not counted yet, or that took too long. `progress` is from 0 to 1."""

    id = serializers.CharField(source="public_id")
    kind = serializers.CharField()
    channel = serializers.CharField(source="channel.public_id", allow_null=True, default=None)
    parameters = serializers.DictField()
    status = serializers.ChoiceField(choices=OperationStatus.names)
    total = serializers.IntegerField(allow_null=True)
    done = serializers.IntegerField()
    failed = serializers.IntegerField()
    progress = serializers.FloatField(allow_null=True)
    askedBy = serializers.CharField(source="asked_by")
    stoppedBy = serializers.CharField(source="stopped_by")
    resumedBy = serializers.CharField(source="resumed_by")
    lastError = serializers.CharField(source="last_error")
    createdAt = serializers.DateTimeField(source="created_at")
    startedAt = serializers.DateTimeField(source="started_at", allow_null=True)
    finishedAt = serializers.DateTimeField(source="finished_at", allow_null=True)


class OperationsOut(serializers.Serializer[Any]):
    result = OperationOut(many=True)
    pages = PagesOut()


def _asked(refusal: str) -> dict[Any, Any]:
    problem = OpenApiResponse({"$ref": "#/components/schemas/Problem"}, description=refusal)
    return {202: OperationOut, (409, CONTENT_TYPE): problem}


class OperationsView(APIView):
    permission_classes = [IsManager]

    @extend_schema(operation_id="listOperations", parameters=PAGED, responses=OperationsOut, tags=["operations"])
    def get(self, request: Request) -> Response:
        """The operations, newest first."""
        rows = Operation.objects.select_related("channel")
        return Response(page(request, rows, lambda row: OperationOut(row).data))


class OperationView(APIView):
    permission_classes = [IsManager]

    @extend_schema(operation_id="getOperation", responses=OperationOut, tags=["operations"])
    def get(self, request: Request, operation_id: str) -> Response:
        """One operation: what it does, how far it is, who asked for it."""
        return Response(OperationOut(get_operation(operation_id)).data)


class StopOperationView(APIView):
    model = Operation
    permission_classes = [IsManager]

    @extend_schema(operation_id="stopOperation", request=None, responses=_asked("It has ended."), tags=["operations"])
    def post(self, request: Request, operation_id: str) -> Response:
        """Stop an operation after the batch under way. What is done stays done."""
        operation = get_operation(operation_id)
        acts.stop(operation=operation, by=who(request))
        return Response(OperationOut(operation).data, status=202)


class ResumeOperationView(APIView):
    model = Operation
    permission_classes = [IsManager]

    @extend_schema(
        operation_id="resumeOperation", request=None, responses=_asked("It is running, or done."), tags=["operations"]
    )
    def post(self, request: Request, operation_id: str) -> Response:
        """Go on with an operation that was stopped or has failed, from where it was."""
        operation = get_operation(operation_id)
        acts.resume(operation=operation, by=who(request))
        return Response(OperationOut(operation).data, status=202)
