"""What a message was before it was one: the app that made it of something else says so."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from channels_app.models import Message


@dataclass(frozen=True)
class Origin:
    """A message for later, as it was asked for: by which row, when, and for when."""

    row_id: int
    asked_at: datetime
    scheduled_for: datetime
    url: str


ORIGINS: list[Callable[[Message], Origin | None]] = []


def origin_of(message: Message) -> Origin | None:
    """None: it was sent as it is."""
    return next((found for find in ORIGINS if (found := find(message))), None)
