"""What operations there are. Each app registers its own when it is ready."""

from dataclasses import dataclass
from typing import Protocol

from channels_app.models import Operation


class UnknownKind(Exception):
    """No app has registered this kind of operation."""


@dataclass(frozen=True)
class Step:
    """What one batch came to, and the last row it has looked at. A kind that is paced says when it may go on."""

    cursor: int
    done: int = 0
    failed: int = 0
    is_last: bool = False
    rest_seconds: float = 0.0


class Kind(Protocol):
    """The rows are changed in the transaction in which the runner moves the cursor: nothing slow, nothing else.

    What would take too long to count is None.
    """

    name: str

    def count(self, operation: Operation) -> int | None: ...

    def step(self, operation: Operation) -> Step: ...


_kinds: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    _kinds[kind.name] = kind


def kind_of(operation: Operation) -> Kind:
    if operation.kind not in _kinds:
        raise UnknownKind(operation.kind)
    return _kinds[operation.kind]
