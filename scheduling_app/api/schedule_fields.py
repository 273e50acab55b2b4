"""Fields of a schedule's document: moments and time zones."""

from datetime import UTC, datetime, timedelta
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from broker_project.api.fields import Text
from scheduling_app.door.later import InvalidScheduledFor, microseconds
from scheduling_app.recurring.zones import zones

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Far enough on both sides for every time zone, and for what is reckoned from here.
_YEARS = range(1970, 9000)


@extend_schema_field({"type": "string", "format": "date-time"})
class Moment(serializers.Field):  # type: ignore[type-arg]
    """ISO-8601 with a zone; a part of a second counts as one, for ticks are whole seconds."""

    default_error_messages = {"invalid": "A time is ISO-8601 with a zone, as 2026-12-31T23:59:59Z."}

    def to_internal_value(self, data: Any) -> datetime:
        try:
            at = _EPOCH + timedelta(seconds=-(-microseconds(data) // 1_000_000))
        except (InvalidScheduledFor, OverflowError):
            self.fail("invalid")
        if at.year not in _YEARS:
            self.fail("invalid")
        return at


class Zone(Text):
    """An IANA name."""

    default_error_messages = {"unknown": "There is no such time zone; one is named as Europe/Berlin is."}

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        if name not in zones():
            self.fail("unknown")
        return name
