"""The dead letters of one consumer, as its clients know them: listed, queued again, deleted; and how many there are."""

from collections.abc import Sequence
from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from broker_project.api.fields import Text
from broker_project.api.pagination import page
from broker_project.api.problems import CONTENT_TYPE
from broker_project.api.schema import PAGED
from broker_project.lib.patterns import TOKEN, whole
from channels_app.api.jobs import JobStateOut, JobView
from channels_app.api.permissions import sees_secrets
from channels_app.api.who import who
from channels_app.models import Consumer, DeliveryJob
from channels_app.selectors import get_channel, get_consumer, get_job
from dlq_app import selectors, services
from dlq_app.api.permissions import ACT, CLEAR, OpensLetters, OpensOwnLetters, who_acts
from dlq_app.api.shapes import DeadJobOut, DeadJobsOut, DeletedOut, LetterCountsOut, NoteIn, RequeuedAllOut, refusal
from dlq_app.filters import LetterFilter
from dlq_app.models import DeadLetter

STAYS: dict[Any, Any] = {
    (409, CONTENT_TYPE): refusal("It is not dead, was resolved, or cannot be sent any more; `code` says which.")
}
UNREADABLE: dict[Any, Any] = {(415, CONTENT_TYPE): refusal("Send JSON or a form.")}


class RequeueIn(NoteIn):
    """`requeue` is the consumer's token; who holds an API key needs none."""

    requeue = Text(whole(TOKEN), required=False)


class DeadLetterQueueView(APIView):
    model = DeadLetter
    permission_classes = [OpensOwnLetters]
    needs = {"POST": ACT, "DELETE": CLEAR}

    @extend_schema(operation_id="listDeadJobs", parameters=PAGED, responses=DeadJobsOut, tags=["dead letters"])
    def get(self, request: Request, channel_id: str, consumer_id: str) -> Response:
        """The dead jobs of a consumer, the last to die first."""
        letters = selectors.with_names(selectors.letters_of(_consumer(channel_id, consumer_id)))
        context = {"secrets": sees_secrets(request)}
        found = page(request, letters, lambda letter: DeadJobOut(letter, context=context).data)
        return Response({"deadJobs": found["result"], "pages": found["pages"]})

    @extend_schema(
        operation_id="requeueDeadJobs",
        request=RequeueIn,
        responses={202: RequeuedAllOut, **UNREADABLE},
        tags=["dead letters"],
    )
    def post(self, request: Request, channel_id: str, consumer_id: str) -> Response:
        """Queue all dead jobs of a consumer again. By a manager, or with the consumer's own token as `requeue`."""
        note, by = _note(request), who_acts(request, channel_id, consumer_id)
        chosen = LetterFilter(consumer_id=_consumer(channel_id, consumer_id).pk)
        return Response(RequeuedAllOut(services.requeue_all(chosen=chosen, by=by, note=note)).data, status=202)

    @extend_schema(operation_id="clearDeadJobs", responses={200: DeletedOut}, tags=["dead letters"])
    def delete(self, request: Request, channel_id: str, consumer_id: str) -> Response:
        """Discard all dead jobs of a consumer. Their history stays."""
        letters = selectors.letters_of(_consumer(channel_id, consumer_id))
        return Response(DeletedOut(services.discard_all(letters=letters, by=who(request))).data)


class RequeueDeadJobView(APIView):
    model = DeliveryJob
    permission_classes = [OpensOwnLetters]
    needs = {"POST": ACT}

    @extend_schema(
        operation_id="requeueDeadJob",
        request=RequeueIn,
        responses={202: JobStateOut, **STAYS, **UNREADABLE},
        tags=["dead letters"],
    )
    def post(self, request: Request, channel_id: str, consumer_id: str, job_id: str) -> Response:
        """Queue a dead job again. By a manager, or with the consumer's own token as `requeue`."""
        note, by = _note(request), who_acts(request, channel_id, consumer_id)
        consumer = _consumer(channel_id, consumer_id)
        services.requeue_job(job=get_job(consumer, job_id), by=by, note=note)
        return Response(JobStateOut(get_job(consumer, job_id)).data, status=202)


class DeadJobView(JobView):
    """A job's address, where it can be discarded too once it is dead."""

    needs = {"DELETE": ACT}

    def get_permissions(self) -> Sequence[Any]:
        return [OpensLetters()] if self.request.method == "DELETE" else super().get_permissions()

    @extend_schema(
        operation_id="deleteDeadJob",
        responses={204: OpenApiResponse(description="Discarded. Its history stays."), **STAYS},
        tags=["dead letters"],
    )
    def delete(self, request: Request, channel_id: str, consumer_id: str, job_id: str) -> Response:
        """Discard a dead job."""
        services.discard_job(job=get_job(_consumer(channel_id, consumer_id), job_id), by=who(request))
        return Response(status=204)


class DeadLetterStatusView(APIView):
    permission_classes = [OpensLetters]

    @extend_schema(operation_id="getDeadLetterStatus", responses=LetterCountsOut, tags=["dead letters"])
    def get(self, request: Request) -> Response:
        """Counts of dead letters by channel and consumer, from counters."""
        return Response({"counts": selectors.letter_counts()})


def _consumer(channel_id: str, consumer_id: str) -> Consumer:
    return get_consumer(get_channel(channel_id), consumer_id)


def _note(request: Request) -> str:
    incoming = RequeueIn(data=request.data)
    incoming.is_valid(raise_exception=True)
    return str(incoming.validated_data["note"])
