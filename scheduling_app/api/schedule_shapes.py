"""The documents of recurring schedules: what clients send (In) and what they are shown (Out)."""

from typing import Any

from rest_framework import serializers

from broker_project.api.content import Headers, PayloadBase64, PayloadText
from broker_project.api.fields import Choice, In, Text, Whole
from broker_project.lib.patterns import PUBLIC_ID, whole
from channels_app.errors import UnknownProducer
from channels_app.models import Producer
from scheduling_app.api.headers import PRIORITIES
from scheduling_app.api.schedule_fields import Moment, Zone
from scheduling_app.errors import InvalidCron
from scheduling_app.models import Missed, Overlap, RecurringSchedule
from scheduling_app.models.recurring import MAX_INTERVAL_SECONDS, MAX_NOTE_LENGTH, STATES
from scheduling_app.recurring.cron import read_cron

_OPTIONAL: dict[str, Any] = {"required": False, "allow_null": True}


class UnknownScheduleProducer(UnknownProducer):
    """There is no such producer to send in whose name."""

    status = 400


class ScheduleIn(In):
    """When to tick (`cron`, in `timezone`, or `intervalSeconds`), and what to send then, in whose name.

    In the payload `{{tick}}`, `{{scheduled_for}}`, `{{schedule}}` and `{{channel}}` are filled in.
    """

    ignored = (
        *("id", "channel", "status", "nextAt", "lastTickAt", "ticks", "skipped"),
        *("pausedAt", "pausedBy", "pausedNote", "createdAt", "changedAt", "previewUrl"),
    )

    producer = Text(whole(PUBLIC_ID), required=False)
    cron = Text(**_OPTIONAL)
    intervalSeconds = Whole(source="interval_seconds", min_value=1, max_value=MAX_INTERVAL_SECONDS, **_OPTIONAL)
    timezone = Zone(**_OPTIONAL)
    payload = PayloadText(required=False)
    payloadBase64 = PayloadBase64(required=False)
    contentType = Text(r"^[\x21-\x7e][\x20-\x7e]{0,254}$", source="content_type", **_OPTIONAL)
    headers = Headers(**_OPTIONAL)
    priority = Whole(min_value=PRIORITIES[0], max_value=PRIORITIES[-1], **_OPTIONAL)
    startAt = Moment(source="start_at", **_OPTIONAL)
    endAt = Moment(source="end_at", **_OPTIONAL)
    missed = Choice(choices=Missed.values, **_OPTIONAL)
    overlap = Choice(choices=Overlap.values, **_OPTIONAL)

    def validate_producer(self, public_id: str) -> Producer:
        producer: Producer | None = Producer.objects.named(public_id).first()
        if producer is None:
            raise UnknownScheduleProducer(errors=[{"field": "producer", "code": "unknown", "detail": "Unknown."}])
        return producer

    def validate_cron(self, text: str | None) -> str | None:
        try:
            if text is not None:
                read_cron(text)
        except InvalidCron as refusal:
            refusal.errors = [{"field": "cron", "code": "invalid", "detail": refusal.detail}]
            raise
        return text

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "payloadBase64" in attrs:
            if "payload" in attrs:
                raise serializers.ValidationError({"payload": "Either a payload or a payloadBase64."}, code="invalid")
            attrs["payload"] = attrs.pop("payloadBase64")
        return attrs


class PauseIn(In):
    """Why, for whoever finds it paused."""

    note = Text(max_length=MAX_NOTE_LENGTH, **_OPTIONAL)


class ScheduleOut(serializers.Serializer[RecurringSchedule]):
    """`status` is active, paused or ended. A payload that is not UTF-8 comes as `payloadBase64`."""

    id = serializers.CharField(source="public_id")
    channel = serializers.CharField(source="channel.public_id")
    producer = serializers.CharField(source="producer.public_id")
    cron = serializers.CharField(allow_null=True)
    intervalSeconds = serializers.IntegerField(source="interval_seconds", allow_null=True)
    timezone = serializers.CharField()
    payload = serializers.CharField(source="payload_text", required=False)
    payloadBase64 = serializers.CharField(source="payload_base64", required=False)
    contentType = serializers.CharField(source="content_type")
    headers = serializers.DictField(source="header_texts", child=serializers.CharField())
    priority = serializers.IntegerField()
    startAt = serializers.DateTimeField(source="start_at")
    endAt = serializers.DateTimeField(source="end_at", allow_null=True)
    missed = serializers.ChoiceField(choices=Missed.values)
    overlap = serializers.ChoiceField(choices=Overlap.values)
    status = serializers.ChoiceField(choices=STATES, source="state")
    nextAt = serializers.DateTimeField(source="coming_at", allow_null=True)
    lastTickAt = serializers.DateTimeField(source="last_tick_at", allow_null=True)
    ticks = serializers.IntegerField()
    skipped = serializers.IntegerField()
    pausedAt = serializers.DateTimeField(source="paused_at", allow_null=True)
    pausedBy = serializers.CharField(source="paused_by")
    pausedNote = serializers.CharField(source="paused_note")
    createdAt = serializers.DateTimeField(source="created_at")
    changedAt = serializers.DateTimeField(source="changed_at")
    previewUrl = serializers.SerializerMethodField()

    def get_previewUrl(self, schedule: RecurringSchedule) -> str:
        return f"/channel/{schedule.channel.public_id}/schedule/{schedule.public_id}/preview"

    def to_representation(self, schedule: RecurringSchedule) -> dict[str, Any]:
        shown = super().to_representation(schedule)
        absent = "payload" if schedule.payload_text is None else "payloadBase64"
        return {name: value for name, value in shown.items() if name != absent}


class ComingOut(serializers.Serializer[Any]):
    """A tick to come, in UTC and by the schedule's own clock."""

    at = serializers.DateTimeField()
    localTime = serializers.CharField()


class PreviewOut(serializers.Serializer[Any]):
    result = ComingOut(many=True)
