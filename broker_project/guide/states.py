"""The states of things and what moves them, as they are drawn in the guide. A test holds them against the models."""

from dataclasses import dataclass
from typing import Literal

Route = Literal["straight", "over", "elbow"]


@dataclass(frozen=True)
class Move:
    """`shift` moves a line aside, so that two between the same boxes do not lie on each other."""

    source: str
    target: str
    label: str
    route: Route = "straight"
    shift: int = 0


@dataclass(frozen=True)
class Machine:
    """States by name with their place: column and row. The one called START is a dot."""

    title: str
    places: dict[str, tuple[int, int]]
    moves: tuple[Move, ...]
    final: frozenset[str] = frozenset()


START = ""

MESSAGE = Machine(
    "A message",
    {START: (0, 0), "ACKNOWLEDGED": (1, 0), "DISPATCHED": (2, 0)},
    (
        Move(START, "ACKNOWLEDGED", "accepted: 201"),
        Move("ACKNOWLEDGED", "DISPATCHED", "a job for each consumer"),
    ),
    frozenset({"DISPATCHED"}),
)

JOB = Machine(
    "A job: one message for one consumer",
    {START: (0, 0), "QUEUED": (1, 0), "INFLIGHT": (2, 0), "DELIVERED": (3, 0), "DEAD": (2, 1)},
    (
        Move(START, "QUEUED", "fan out"),
        Move("QUEUED", "INFLIGHT", "sent, or leased"),
        Move("INFLIGHT", "DELIVERED", "2xx, or COMPLETE"),
        Move("INFLIGHT", "QUEUED", "failed: waits for its retry", "over"),
        Move("INFLIGHT", "DEAD", "out of retries"),
        Move("QUEUED", "DEAD", "expired, gone", "elbow", -12),
        Move("DEAD", "QUEUED", "requeued", "elbow", 12),
    ),
    frozenset({"DELIVERED"}),
)

SCHEDULED = Machine(
    "A message for later",
    {START: (0, 1), "SCHEDULED": (1, 1), "DISPATCHED": (2, 0), "CANCELLED": (2, 1), "SET_ASIDE": (2, 2)},
    (
        Move(START, "SCHEDULED", "accepted: 201"),
        Move("SCHEDULED", "DISPATCHED", "its time, or dispatch-now"),
        Move("SCHEDULED", "CANCELLED", "DELETE"),
        Move("SCHEDULED", "SET_ASIDE", "its id is another's"),
    ),
    frozenset({"DISPATCHED", "CANCELLED", "SET_ASIDE"}),
)

DEAD_LETTER = Machine(
    "A dead letter",
    {START: (0, 1), "open": (1, 1), "requeued": (2, 0), "edited": (2, 1), "discarded": (2, 2)},
    (
        Move(START, "open", "a job is DEAD"),
        Move("open", "requeued", "requeue, redrive"),
        Move("requeued", "open", "it dies again", "over"),
        Move("open", "edited", "edit and resend"),
        Move("open", "discarded", "discard"),
    ),
    frozenset({"edited", "discarded"}),
)

CONSUMER = Machine(
    "A consumer and its breaker",
    {"paused": (0, 0), "delivering": (1, 0), "disabled": (1, 1), "breaker_open": (2, 0), "breaker_half_open": (3, 0)},
    (
        Move("delivering", "paused", "pause", shift=-9),
        Move("paused", "delivering", "resume", shift=-9),
        Move("delivering", "disabled", "answered 410", shift=-14),
        Move("disabled", "delivering", "resume", shift=-14),
        Move("delivering", "breaker_open", "50 failures in a row"),
        Move("breaker_open", "breaker_half_open", "after 30 s", shift=-9),
        Move("breaker_half_open", "breaker_open", "the one job failed", shift=-9),
        Move("breaker_half_open", "delivering", "one job is sent to see, and taken; or resume", "over"),
    ),
)

MACHINES = {
    "message": MESSAGE,
    "job": JOB,
    "scheduled-message": SCHEDULED,
    "dead-letter": DEAD_LETTER,
    "consumer": CONSUMER,
}
