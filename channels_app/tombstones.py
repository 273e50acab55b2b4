"""What is known of a message that was pruned: its key stays, and the app that has its history says where."""

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet

from channels_app.errors import MessagePruned
from channels_app.models import MessageKey

PLACES: list[Callable[[MessageKey], dict[str, Any] | None]] = []


def refuse_pruned(keys: QuerySet[MessageKey]) -> None:
    """Asked after the row was looked for in vain: the key tells what has become of it."""
    key = keys.filter(pruned_at__isnull=False).first()
    if key is None or key.pruned_at is None:
        return
    place = next((found for find in PLACES if (found := find(key))), None)
    raise MessagePruned(key.pruned_at, lake=place, was_for_later=key.scheduled)
