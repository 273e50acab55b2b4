"""The fields of this door's documents."""

from typing import Any

from broker_project.lib.patterns import PUBLIC_ID
from channels_app.api.pull.fields import InvalidField, whole

MOST_INDEX = 10**18
MOST_MESSAGES, DEFAULT_MESSAGES = 1_000, 25

index = whole(0, MOST_INDEX - 1)
message_index = whole(1, MOST_INDEX - 1)
fetch_count = whole(1, MOST_MESSAGES)


def name(value: Any) -> str:
    if not isinstance(value, str) or not PUBLIC_ID.fullmatch(value):
        raise InvalidField("1 to 255 of A-Z a-z 0-9 . _ ~ - are expected.")
    return value


def anything(value: Any) -> Any:
    return value


def members(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidField("An object is expected.")
    return value
