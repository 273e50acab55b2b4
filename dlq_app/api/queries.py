"""Which letters a query means."""

import re
from datetime import datetime, timedelta

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from broker_project.lib.patterns import whole
from channels_app.api.pull.fields import moment
from channels_app.reasons import Reason
from channels_app.selectors import get_channel_or_past
from dlq_app.errors import ChannelMissing, InvalidFilter
from dlq_app.filters import LetterFilter
from dlq_app.selectors import get_consumer_or_past

FINGERPRINT = re.compile("[0-9a-f]{16}")
MAX_WORDS = 255
# A hundred years.
MAX_AGE_SECONDS = 100 * 366 * 24 * 3600

FILTERED = [
    OpenApiParameter("channel", str),
    OpenApiParameter("consumer", str, description="Needs `channel`."),
    OpenApiParameter("reason", str, enum=list(Reason)),
    OpenApiParameter("fingerprint", {"type": "string", "pattern": whole(FINGERPRINT)}),
    OpenApiParameter("q", {"type": "string", "maxLength": MAX_WORDS}, description="Words of the error, all of them."),
    OpenApiParameter("from", datetime, description="Entered then or later."),
    OpenApiParameter("to", datetime, description="Entered before."),
    OpenApiParameter(
        "olderThan",
        {"type": "integer", "minimum": 0, "maximum": MAX_AGE_SECONDS},
        description="Entered more than so many seconds ago.",
    ),
]


# With what pages and exports are asked by.
KNOWN = {parameter.name for parameter in FILTERED} | {"page", "limit", "payload"}


def read_filter(request: Request) -> LetterFilter:
    asked = request.query_params.dict()
    if unknown := sorted(asked.keys() - KNOWN):
        raise InvalidFilter(f"Nothing is filtered by {', '.join(unknown)[:100]}.")
    return LetterFilter(
        **_whose(asked),
        reason=_reason(asked),
        fingerprint=_fingerprint(asked),
        words=_words(asked),
        entered_from=_moment(asked, "from"),
        entered_before=_before(asked),
    )


def as_hex(fingerprint: int) -> str:
    """The 64 bits as they are."""
    return f"{fingerprint % 2**64:016x}"


def _whose(asked: dict[str, str]) -> dict[str, int]:
    if "channel" not in asked:
        if "consumer" in asked:
            raise ChannelMissing
        return {}
    channel = get_channel_or_past(asked["channel"])
    if "consumer" not in asked:
        return {"channel_id": channel.pk}
    # A consumer's letters are those of its channel.
    return {"consumer_id": get_consumer_or_past(channel, asked["consumer"]).pk}


def _reason(asked: dict[str, str]) -> str | None:
    reason = asked.get("reason")
    if reason is not None and reason not in set(Reason):
        raise InvalidFilter(f"A reason is one of: {', '.join(Reason)}.")
    return reason


def _fingerprint(asked: dict[str, str]) -> int | None:
    if "fingerprint" not in asked:
        return None
    if not FINGERPRINT.fullmatch(asked["fingerprint"]):
        raise InvalidFilter("A fingerprint is 16 hexadecimal digits in lower case.")
    bits = int(asked["fingerprint"], 16)
    return bits - 2**64 if bits >= 2**63 else bits


def _words(asked: dict[str, str]) -> str | None:
    words = asked.get("q")
    if words is not None and (len(words) > MAX_WORDS or "\0" in words):
        raise InvalidFilter(f"Words of the error are at most {MAX_WORDS} characters, and no NUL.")
    return words


def _moment(asked: dict[str, str], name: str) -> datetime | None:
    return moment(asked[name]) if name in asked else None


def _before(asked: dict[str, str]) -> datetime | None:
    """The earlier of `to` and so long ago."""
    times = [_moment(asked, "to"), _long_ago(asked)]
    return min((time for time in times if time is not None), default=None)


def _long_ago(asked: dict[str, str]) -> datetime | None:
    if "olderThan" not in asked:
        return None
    seconds = asked["olderThan"]
    if not re.fullmatch("[0-9]{1,10}", seconds) or int(seconds) > MAX_AGE_SECONDS:
        raise InvalidFilter(f"olderThan is a whole number of seconds, at most {MAX_AGE_SECONDS}.")
    return timezone.now() - timedelta(seconds=int(seconds))
