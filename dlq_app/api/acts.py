"""What operators do about dead letters: queue many again, discard many, edit one and send it again."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from broker_project.api.content import Headers, PayloadBase64, PayloadText
from broker_project.api.fields import In, Text
from broker_project.api.parsers import StrictJSONParser
from broker_project.api.problems import CONTENT_TYPE
from broker_project.lib.patterns import ROW_ID, row_id, whole
from channels_app.api.who import who
from dlq_app import selectors, services
from dlq_app.api.permissions import ACT, OpensLetters
from dlq_app.api.queue import STAYS
from dlq_app.api.shapes import DiscardedOut, NoteIn, RequeuedOut, note, refusal
from dlq_app.discard import MOST
from dlq_app.edit import Content

NOT_JSON: dict[Any, Any] = {(415, CONTENT_TYPE): refusal("Send JSON.")}


class ChosenIn(NoteIn):
    """Those among them that are no open dead letters are left, and counted as such."""

    jobIds = serializers.ListField(child=Text(whole(ROW_ID)), min_length=1, max_length=MOST)

    def validate_jobIds(self, texts: list[str]) -> list[int]:
        return [row_id(text) for text in texts]


class EditIn(In):
    """What is left out stays as it was. Either a `payload` or a `payloadBase64`."""

    payload = PayloadText(required=False)
    payloadBase64 = PayloadBase64(required=False)
    contentType = Text(r"^[\x21-\x7e][\x20-\x7e]{0,254}$", required=False)
    headers = Headers(required=False)
    note = note()

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if "payload" in data and "payloadBase64" in data:
            raise serializers.ValidationError({"payload": "Either a payload or a payloadBase64."}, code="invalid")
        return data

    @property
    def content(self) -> Content:
        data = self.validated_data
        payload = data.get("payload", data.get("payloadBase64"))
        return Content(payload, data.get("contentType"), data.get("headers"))


class EditedOut(serializers.Serializer[Any]):
    """The message that took the letter's place, and its job."""

    messageId = serializers.CharField()
    messageUrl = serializers.CharField()
    jobId = serializers.CharField()


class RequeueLettersView(APIView):
    permission_classes = [OpensLetters]
    parser_classes: list[type[BaseParser]] = [StrictJSONParser]
    needs = {"POST": ACT}

    @extend_schema(
        operation_id="requeueDeadLetters",
        request=ChosenIn,
        responses={202: RequeuedOut, **NOT_JSON},
        tags=["dead letters"],
    )
    def post(self, request: Request) -> Response:
        """Queue these dead letters again, in one statement."""
        asked = _read(ChosenIn, request).validated_data
        acted = services.requeue_jobs(job_ids=asked["jobIds"], by=who(request), note=asked["note"])
        return Response(RequeuedOut(acted).data, status=202)


class DiscardLettersView(APIView):
    permission_classes = [OpensLetters]
    parser_classes: list[type[BaseParser]] = [StrictJSONParser]
    needs = {"POST": ACT}

    @extend_schema(
        operation_id="discardDeadLetters",
        request=ChosenIn,
        responses={200: DiscardedOut, **NOT_JSON},
        tags=["dead letters"],
    )
    def post(self, request: Request) -> Response:
        """Discard these dead letters. The jobs stay DEAD, and their history stays."""
        asked = _read(ChosenIn, request).validated_data
        acted = services.discard_jobs(job_ids=asked["jobIds"], by=who(request), note=asked["note"])
        return Response(DiscardedOut(acted).data)


class EditLetterView(APIView):
    permission_classes = [OpensLetters]
    parser_classes: list[type[BaseParser]] = [StrictJSONParser]
    needs = {"POST": ACT}

    @extend_schema(
        operation_id="editDeadLetter",
        request=EditIn,
        responses={201: OpenApiResponse(EditedOut, description="Sent again; Location names it."), **STAYS, **NOT_JSON},
        tags=["dead letters"],
    )
    def post(self, request: Request, job_id: str) -> Response:
        """Send a dead letter again with another content: a new message, for its consumer only. The original stays."""
        letter, incoming = selectors.get_letter(job_id), _read(EditIn, request)
        edited = services.edit_and_send(
            job=letter.job, content=incoming.content, by=who(request), note=incoming.validated_data["note"]
        )
        address = f"/channel/{letter.channel.public_id}/message/{edited.message_id}"
        shown = {"messageId": edited.message_id, "messageUrl": address, "jobId": str(edited.job_id)}
        return Response(shown, status=201, headers={"Location": address})


def _read(shape: type[Any], request: Request) -> Any:
    incoming = shape(data=request.data)
    incoming.is_valid(raise_exception=True)
    return incoming
