"""Memory for batches: so many bytes are worked on at once, and no more."""

from collections.abc import Iterator
from contextlib import contextmanager

from broker_project.api.group_commit import DoorFull


class Room:
    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._held_bytes = 0

    @contextmanager
    def hold(self, size: int) -> Iterator[None]:
        """One that is alone always fits."""
        if self._held_bytes and self._held_bytes + size > self._most_bytes:
            raise DoorFull
        self._held_bytes += size
        try:
            yield
        finally:
            self._held_bytes -= size
