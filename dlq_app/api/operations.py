"""Long acts: redrive by filter, replay of what was delivered, delivery of what was missed. Each is an operation."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from broker_project.api.fields import In
from broker_project.api.parsers import StrictJSONParser
from broker_project.api.problems import CONTENT_TYPE
from broker_project.lib.errors import BrokerError
from channels_app.api.operations import OperationOut
from channels_app.api.who import who
from channels_app.models import Consumer, Operation
from channels_app.pull.index.start import polls
from channels_app.selectors import get_channel, get_consumer
from dlq_app import redrive, selectors
from dlq_app.api.operation_shapes import (
    DryRun,
    OpenStretchIn,
    RedriveDryRunOut,
    RedriveIn,
    StretchDryRunOut,
    StretchIn,
    asked_filter,
)
from dlq_app.api.permissions import ACT, OpensLetters
from dlq_app.api.shapes import refusal
from dlq_app.filters import LetterFilter
from dlq_app.missed import MISSED
from dlq_app.replay import REPLAY
from dlq_app.walk import Walk

SAMPLE = 10


class ConsumerSeeks(BrokerError):
    """This consumer polls by index: it seeks back to see messages again."""

    status = 409


def _answers(shown: type[Serializer[Any]]) -> dict[Any, Any]:
    return {
        200: OpenApiResponse(shown, description="With `dryRun`: how many there are. Nothing was changed."),
        202: OpenApiResponse(OperationOut, description="Begun; Location names the operation."),
        (415, CONTENT_TYPE): refusal("Send JSON."),
    }


STRETCH_ANSWERS = {**_answers(StretchDryRunOut), (409, CONTENT_TYPE): refusal("The consumer polls by index.")}


class RedriveView(APIView):
    permission_classes = [OpensLetters]
    parser_classes: list[type[BaseParser]] = [StrictJSONParser]
    needs = {"POST": ACT}

    @extend_schema(
        operation_id="redriveDeadLetters",
        request=RedriveIn,
        responses=_answers(RedriveDryRunOut),
        tags=["dead letters"],
    )
    def post(self, request: Request) -> Response:
        """Queue all dead letters that a filter names again, as an operation.

        Those that cannot be sent any more, or were queued again often enough, stay, and are counted as failed.
        """
        asked = _read(RedriveIn, request)
        if asked["dryRun"]:
            return Response(RedriveDryRunOut(_letters(asked["chosen"])).data)
        return _begun(
            redrive.begin(
                chosen=asked["chosen"],
                by=who(request),
                note=asked["note"],
                per_second=asked.get("ratePerSecond"),
                asked=asked_filter(asked),
            )
        )


class ReplayView(APIView):
    permission_classes = [OpensLetters]
    parser_classes: list[type[BaseParser]] = [StrictJSONParser]
    needs = {"POST": ACT}

    @extend_schema(operation_id="replayMessages", request=StretchIn, responses=STRETCH_ANSWERS, tags=["dead letters"])
    def post(self, request: Request, channel_id: str, consumer_id: str) -> Response:
        """Send a consumer again what it got between two moments, as an operation."""
        return _walk(REPLAY, StretchIn, request, channel_id, consumer_id)


class DeliverMissedView(APIView):
    permission_classes = [OpensLetters]
    parser_classes: list[type[BaseParser]] = [StrictJSONParser]
    needs = {"POST": ACT}

    @extend_schema(
        operation_id="deliverMissedMessages", request=OpenStretchIn, responses=STRETCH_ANSWERS, tags=["dead letters"]
    )
    def post(self, request: Request, channel_id: str, consumer_id: str) -> Response:
        """Send a consumer what came while it was disabled, or before it was registered, as an operation.

        Messages of the channel received between the two moments for which it has no job get one.
        """
        return _walk(MISSED, OpenStretchIn, request, channel_id, consumer_id)


def _walk(walk: Walk, shape: type[In], request: Request, channel_id: str, consumer_id: str) -> Response:
    consumer = _with_jobs(get_consumer(get_channel(channel_id), consumer_id))
    asked = _read(shape, request)
    if asked["dryRun"]:
        counted, sample = walk.count(consumer, asked["stretch"]), walk.sample(consumer, asked["stretch"])
        return Response(StretchDryRunOut(DryRun(counted.number, counted.is_exact, sample)).data)
    pace = {"note": asked["note"], "per_second": asked.get("ratePerSecond")}
    return _begun(walk.begin(consumer, asked["stretch"], by=who(request), **pace))


def _with_jobs(consumer: Consumer) -> Consumer:
    if polls(consumer):
        raise ConsumerSeeks
    return consumer


def _read(shape: type[In], request: Request) -> dict[str, Any]:
    incoming = shape(data=request.data)
    incoming.is_valid(raise_exception=True)
    return dict(incoming.validated_data)


def _letters(chosen: LetterFilter) -> DryRun:
    counted = redrive.count(chosen)
    rows = selectors.with_names(chosen.letters()).order_by("pk")
    return DryRun(counted.number, counted.is_exact, list(rows[:SAMPLE]))


def _begun(operation: Operation) -> Response:
    place = f"/operations/{operation.public_id}"
    return Response(OperationOut(operation).data, status=202, headers={"Location": place})
