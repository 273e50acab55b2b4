"""The field `startFrom`: a place in a channel, by index or by time."""

import re
from datetime import datetime
from typing import Any

from django.http import QueryDict
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from channels_app.pull.index.moments import InvalidTime, moment

_WHOLE = re.compile(r"[0-9]{1,18}")


@extend_schema_field({"oneOf": [{"type": "integer", "minimum": 0}, {"type": "string", "format": "date-time"}]})
class Start(serializers.Field):  # type: ignore[type-arg]
    """Where a new consumer begins that polls by index: after an index, or with the first message from a time on."""

    default_error_messages = {"invalid": "An index, 0 or more, or a time such as 2026-01-31T12:00:00Z."}

    def to_internal_value(self, data: Any) -> int | datetime:
        if isinstance(self.root.initial_data, QueryDict) and _WHOLE.fullmatch(str(data)):
            data = int(data)
        if isinstance(data, int) and not isinstance(data, bool) and data >= 0:
            return data
        try:
            return moment(data)
        except InvalidTime:
            self.fail("invalid")
