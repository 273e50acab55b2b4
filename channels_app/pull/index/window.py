"""Which messages a poll may hand out, and why there are none. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from channels_app.pull.index.places import Place


class Nothing(StrEnum):
    """Why a poll came back empty; the first that is true, in this order.

    With `after` = max(sent, from):

    - disabled: the consumer is switched off.
    - paused: it is paused, or its channel is.
    - beyond_window: `from` lies above `sent`, and above acked + cap or above the last index: where nothing can be yet.
    - already_sent: from + limit is not above `sent`: all that was asked for was handed out before, or passed over.
    - caught_up: the channel has nothing after `after`.
    - unacked_cap_reached: it has, but `after` has reached acked + cap: acknowledge first.
    """

    DISABLED = "disabled"
    PAUSED = "paused"
    BEYOND_WINDOW = "beyond_window"
    ALREADY_SENT = "already_sent"
    CAUGHT_UP = "caught_up"
    UNACKED_CAP_REACHED = "unacked_cap_reached"


@dataclass(frozen=True)
class Window:
    """The messages (after, until] of a poll that asks for (start, start + limit]."""

    place: Place
    start: int
    limit: int

    @property
    def after(self) -> int:
        return max(self.place.sent, self.start)

    @property
    def until(self) -> int:
        return min(self.place.ceiling, self.start + self.limit)

    @property
    def is_empty(self) -> bool:
        return self.place.stopped is not None or self.until <= self.after

    def why_nothing(self) -> Nothing:
        place = self.place
        if place.stopped:
            return Nothing(place.stopped)
        if self.start > max(place.sent, place.ceiling):
            return Nothing.BEYOND_WINDOW
        if self.start + self.limit <= place.sent:
            return Nothing.ALREADY_SENT
        return Nothing.CAUGHT_UP if self.after >= place.last else Nothing.UNACKED_CAP_REACHED
