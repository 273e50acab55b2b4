"""Dead letters as NDJSON: a line each, read and sent in batches."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.utils.encoders import JSONEncoder
from rest_framework.views import APIView

from broker_project.api.pagination import Cursor
from dlq_app import selectors
from dlq_app.api.permissions import OpensLetters
from dlq_app.api.queries import FILTERED, read_filter
from dlq_app.api.shapes import LetterOut, SentOut
from dlq_app.errors import InvalidFilter
from dlq_app.models import DeadLetter
from dlq_app.models.dead_letter import DeadLetterQuerySet

NDJSON = "application/x-ndjson"
# Rows at a time; a payload may be a megabyte.
MOST, MOST_WITH_PAYLOAD = 500, 16
# What a slow client has not read yet waits in memory: an answer has an end, and says where to go on.
MOST_BYTES = 64 * 1024 * 1024
FLAGS = {"": False, "false": False, "true": True}

_encode = JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class LetterLineOut(LetterOut):
    """A letter on a line of its own."""


class FullLineOut(LetterLineOut):
    message = SentOut()


class ExportView(APIView):
    permission_classes = [OpensLetters]

    @extend_schema(
        operation_id="exportDeadLetters",
        parameters=[
            *FILTERED,
            OpenApiParameter("payload", bool, description="With each letter's message, its payload included."),
            OpenApiParameter("page", str, description="Where to go on, from the last line of an earlier answer."),
        ],
        responses={
            (200, NDJSON): OpenApiResponse(
                {"type": "string"},
                description='A letter a line. After 64 MiB a last line says where to go on: `{"next": "…"}`.',
            )
        },
        tags=["dead letters"],
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """The open dead letters as NDJSON, the last to enter first."""
        text = request.query_params.get("page", "")
        before = Cursor.decode(text).row_id if text else None
        export = _Export.full if _with_payload(request) else _Export.plain
        lines = _export(request, export(read_filter(request).letters()), before)
        return StreamingHttpResponse(lines, content_type=NDJSON, headers={"Cache-Control": "no-store"})


@dataclass(frozen=True)
class _Export:
    """Which letters, what is shown of each, and how many at a time."""

    letters: DeadLetterQuerySet
    shape: type[LetterOut]
    most: int

    @classmethod
    def plain(cls, letters: DeadLetterQuerySet) -> "_Export":
        return cls(selectors.with_names(letters), LetterLineOut, MOST)

    @classmethod
    def full(cls, letters: DeadLetterQuerySet) -> "_Export":
        return cls(letters.select_related("message__producer", "channel", "consumer"), FullLineOut, MOST_WITH_PAYLOAD)

    def before(self, letter_id: int | None) -> list[DeadLetter]:
        older = self.letters if letter_id is None else self.letters.filter(pk__lt=letter_id)
        return list(older.order_by("-pk")[: self.most])

    def lines(self, letters: list[DeadLetter]) -> bytes:
        return "".join(f"{_encode(self.shape(letter).data)}\n" for letter in letters).encode()


def _export(request: Request, export: _Export, before: int | None) -> Iterator[bytes]:
    sent = 0
    while batch := export.before(before):
        lines = export.lines(batch)
        sent, before = sent + len(lines), batch[-1].pk
        yield lines
        if len(batch) < export.most:
            return
        if sent >= MOST_BYTES:
            yield f"{_encode({'next': _link(request, before)})}\n".encode()
            return


def _with_payload(request: Request) -> bool:
    asked = request.query_params.get("payload", "").lower()
    if asked not in FLAGS:
        raise InvalidFilter("payload is true or false.")
    return FLAGS[asked]


def _link(request: Request, before: int) -> str:
    kept = [(key, value) for key, values in request.query_params.lists() for value in values if key != "page"]
    return f"{request.path}?{urlencode([*kept, ('page', Cursor(after=True, row_id=before).encode())])}"
