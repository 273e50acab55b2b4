"""Dead letters for operators: the list by filter, one with its whole story, and what they have in common."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from broker_project.api.pagination import page
from broker_project.api.schema import PAGED
from channels_app.api.permissions import sees_secrets
from dlq_app import selectors
from dlq_app.api.permissions import OpensLetters
from dlq_app.api.queries import FILTERED, read_filter
from dlq_app.api.shapes import CausesOut, LetterOut, LettersOut, LetterStoryOut
from dlq_app.causes import causes


class LettersView(APIView):
    permission_classes = [OpensLetters]

    @extend_schema(
        operation_id="listDeadLetters", parameters=[*PAGED, *FILTERED], responses=LettersOut, tags=["dead letters"]
    )
    def get(self, request: Request) -> Response:
        """The open dead letters, the last to enter first."""
        letters = selectors.with_names(read_filter(request).letters())
        return Response(page(request, letters, lambda letter: LetterOut(letter).data))


class CausesView(APIView):
    permission_classes = [OpensLetters]

    @extend_schema(operation_id="listDeadLetterCauses", parameters=FILTERED, responses=CausesOut, tags=["dead letters"])
    def get(self, request: Request) -> Response:
        """What the open dead letters died of, by fingerprint, the most frequent first; at most 50."""
        return Response(CausesOut(causes(read_filter(request))).data)


class LetterView(APIView):
    permission_classes = [OpensLetters]

    @extend_schema(operation_id="getDeadLetter", responses=LetterStoryOut, tags=["dead letters"])
    def get(self, request: Request, job_id: str) -> Response:
        """One dead letter, open or resolved: its message, every try, and all that was done about it."""
        return Response(LetterStoryOut(selectors.get_letter(job_id), context={"secrets": sees_secrets(request)}).data)
