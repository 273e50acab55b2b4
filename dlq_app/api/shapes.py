"""What a dead letter looks like over HTTP."""

from typing import Any
from urllib.parse import urlsplit

from drf_spectacular.utils import OpenApiResponse, extend_schema_field
from rest_framework import serializers

from broker_project.api.fields import In, Text
from channels_app.api.jobs import ContentOut, TriedOut
from channels_app.api.shapes import PagesOut
from channels_app.models import JobStatus, Message
from channels_app.origins import Origin, origin_of
from channels_app.reasons import ADVICE, Reason
from dlq_app.api.queries import as_hex
from dlq_app.causes import Cause, Causes
from dlq_app.models import Act, DeadLetter, DeadLetterAct, Resolution
from dlq_app.services import Acted

MAX_NOTE = 1_000


def refusal(description: str) -> OpenApiResponse:
    return OpenApiResponse({"$ref": "#/components/schemas/Problem"}, description=description)


def note() -> Text:
    return Text(required=False, default="", min_length=0, allow_blank=True, max_length=MAX_NOTE)


class Endpoint(serializers.CharField):
    """A callback URL may hold a secret: whoever may not see those sees its scheme and host."""

    def to_representation(self, url: str) -> str:
        return url if self.context.get("secrets") else _origin(url)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}/…" if parts.hostname else ""


class NoteIn(In):
    """Why, for the history."""

    note = note()


class LetterOut(serializers.Serializer[DeadLetter]):
    """`times`: how often it has entered. Letters with one cause have one `fingerprint`."""

    jobId = serializers.CharField(source="job_id")
    channel = serializers.CharField(source="channel.public_id")
    consumer = serializers.CharField(source="consumer.public_id")
    messageId = serializers.CharField(source="message.message_id")
    messageUrl = serializers.SerializerMethodField()
    letterUrl = serializers.SerializerMethodField()
    reason = serializers.ChoiceField(choices=list(Reason))
    advice = serializers.SerializerMethodField()
    error = serializers.CharField()
    fingerprint = serializers.SerializerMethodField()
    attempts = serializers.IntegerField()
    times = serializers.IntegerField()
    enteredAt = serializers.DateTimeField(source="entered_at")

    def get_messageUrl(self, letter: DeadLetter) -> str:
        return message_url(letter, letter.message)

    def get_letterUrl(self, letter: DeadLetter) -> str:
        return f"/dead-letters/{letter.job_id}"

    def get_advice(self, letter: DeadLetter) -> str:
        return ADVICE[Reason(letter.reason)]

    def get_fingerprint(self, letter: DeadLetter) -> str:
        return as_hex(letter.fingerprint)


class ActOut(serializers.Serializer[DeadLetterAct]):
    act = serializers.ChoiceField(choices=Act.values)
    reason = serializers.CharField(allow_null=True)
    attempt = serializers.IntegerField()
    by = serializers.CharField()
    note = serializers.CharField()
    at = serializers.DateTimeField()


class SentOut(ContentOut):
    """The message as its producer sent it."""

    producer = serializers.CharField(source="producer.public_id")
    producedBy = serializers.CharField(source="producer.name")
    priority = serializers.IntegerField()
    receivedAt = serializers.DateTimeField(source="received_at")
    expungedAt = serializers.DateTimeField(source="expunged_at", allow_null=True)


class OriginOut(serializers.Serializer[Origin]):
    """The message for later that it was."""

    id = serializers.CharField(source="row_id")
    askedAt = serializers.DateTimeField(source="asked_at")
    scheduledFor = serializers.DateTimeField(source="scheduled_for")
    scheduledMessageUrl = serializers.CharField(source="url")


class LetterStoryOut(LetterOut):
    """A letter with its message, every try, and all that was done about it. `resolution` is null while it is open."""

    jobStatus = serializers.ChoiceField(choices=JobStatus.names, source="job.status_name")
    listenerName = serializers.CharField(source="consumer.name")
    listenerEndpoint = Endpoint(source="consumer.callback_url")
    resolution = serializers.ChoiceField(choices=Resolution.values, allow_null=True)
    resolvedAt = serializers.DateTimeField(source="resolved_at", allow_null=True)
    resolvedBy = serializers.CharField(source="resolved_by", allow_null=True)
    note = serializers.CharField()
    editedMessageUrl = serializers.SerializerMethodField()
    message = SentOut()
    scheduled = serializers.SerializerMethodField()
    tries = TriedOut(many=True, source="job.attempts")
    history = ActOut(many=True, source="job.letter_acts")

    @extend_schema_field(OriginOut(allow_null=True))
    def get_scheduled(self, letter: DeadLetter) -> Any:
        origin = origin_of(letter.message)
        return OriginOut(origin).data if origin else None

    def get_editedMessageUrl(self, letter: DeadLetter) -> str | None:
        return message_url(letter, letter.edited_message) if letter.edited_message else None


class LettersOut(serializers.Serializer[Any]):
    result = LetterOut(many=True)
    pages = PagesOut()


class CauseOut(serializers.Serializer[Cause]):
    """`error` is that of the newest."""

    fingerprint = serializers.SerializerMethodField()
    reason = serializers.ChoiceField(choices=list(Reason))
    advice = serializers.SerializerMethodField()
    error = serializers.CharField()
    count = serializers.IntegerField()
    firstAt = serializers.DateTimeField(source="first_at")
    lastAt = serializers.DateTimeField(source="last_at")

    def get_fingerprint(self, cause: Cause) -> str:
        return as_hex(cause.fingerprint)

    def get_advice(self, cause: Cause) -> str:
        return ADVICE[Reason(cause.reason)]


class CausesOut(serializers.Serializer[Causes]):
    """`isComplete`: all letters were looked at; else the newest, `lookedAt` of them."""

    result = CauseOut(many=True, source="found")
    lookedAt = serializers.IntegerField(source="looked_at")
    isComplete = serializers.BooleanField(source="is_complete")


class DeadJobOut(serializers.Serializer[DeadLetter]):
    id = serializers.CharField(source="job_id")
    listenerEndpoint = Endpoint(source="consumer.callback_url")
    listenerName = serializers.CharField(source="consumer.name")
    status = serializers.ChoiceField(choices=JobStatus.names, source="job.status_name")
    statusChangedAt = serializers.DateTimeField(source="job.status_changed_at")
    messageUrl = serializers.SerializerMethodField()
    jobRequeueUrl = serializers.SerializerMethodField()
    failureReason = serializers.ChoiceField(choices=list(Reason), source="reason")
    attempts = serializers.IntegerField()
    lastError = serializers.CharField(source="error")

    def get_messageUrl(self, letter: DeadLetter) -> str:
        return message_url(letter, letter.message)

    def get_jobRequeueUrl(self, letter: DeadLetter) -> str:
        consumer = f"/channel/{letter.channel.public_id}/consumer/{letter.consumer.public_id}"
        return f"{consumer}/job/{letter.job_id}/requeue-dead-job"


class DeadJobsOut(serializers.Serializer[Any]):
    deadJobs = DeadJobOut(many=True)
    pages = PagesOut()


class RequeuedOut(serializers.Serializer[Acted]):
    """`leftCount` cannot be sent any more, or were not dead."""

    requeuedCount = serializers.IntegerField(source="moved")
    leftCount = serializers.IntegerField(source="left")


class RequeuedAllOut(RequeuedOut):
    """`operationUrl`: where there are very many, an operation looks at the rest."""

    isComplete = serializers.BooleanField(source="is_complete")
    operationUrl = serializers.SerializerMethodField()

    def get_operationUrl(self, acted: Acted) -> str | None:
        return f"/operations/{acted.rest.public_id}" if acted.rest else None


class DiscardedOut(serializers.Serializer[Any]):
    discardedCount = serializers.IntegerField(source="moved")
    leftCount = serializers.IntegerField(source="left")


class DeletedOut(serializers.Serializer[Any]):
    """`isComplete`: else ask again, there are more."""

    deletedCount = serializers.IntegerField(source="moved")
    isComplete = serializers.BooleanField(source="is_complete")


class LetterCountsOut(serializers.Serializer[Any]):
    """channel -> consumer -> how many."""

    counts = serializers.DictField(child=serializers.DictField(child=serializers.IntegerField()))


def message_url(letter: DeadLetter, message: Message) -> str:
    return f"/channel/{letter.channel.public_id}/message/{message.message_id}"
