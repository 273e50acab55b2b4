"""What the engine is doing for a channel or a consumer, in words."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from unfold.contrib.filters.admin import RadioFilter

from channels_app.models import Channel, ChannelState, Consumer, ConsumerState

BECAUSE = {"gone": "it answered 410 (gone)"}


@dataclass(frozen=True)
class State:
    """A word, its colour, and the whole sentence."""

    word: str
    tone: str
    text: str

    @property
    def holds(self) -> bool:
        """Whether jobs stay where they are."""
        return self.word != "delivering"


DELIVERING = State("delivering", "success", "Delivering.")


def of_channel(state: ChannelState) -> State:
    if state.paused_at is None:
        return DELIVERING
    return State("paused", "warning", f"Paused since {written(state.paused_at)}. Messages are accepted and wait.")


def of_consumer(consumer: Consumer) -> State:
    """The strongest hindrance first. Wants `state` and `channel__state` loaded."""
    state = consumer.state
    if state.disabled_at is not None:
        return _disabled(state)
    if state.paused_at is not None:
        return State("paused", "warning", f"Paused since {written(state.paused_at)}. Its jobs wait.")
    if consumer.channel.state.paused_at is not None:
        since = written(consumer.channel.state.paused_at)
        return State("channel paused", "warning", f"Its channel is paused since {since}. Its jobs wait.")
    if state.breaker_until is None or not consumer.circuit_breaker:
        return DELIVERING
    return _breaker(state, state.breaker_until)


def _disabled(state: ConsumerState) -> State:
    because = BECAUSE.get(state.disabled_reason or "", state.disabled_reason or "somebody said so")
    since = written(state.disabled_at)
    return State(
        "disabled", "danger", f"Disabled since {since} because {because}. Its jobs wait, new ones are not made."
    )


def _breaker(state: ConsumerState, until: datetime) -> State:
    after = f"after {state.streak} failures in a row"
    if until <= timezone.now():
        return State("breaker half open", "warning", f"Breaker half open, {after}: the next delivery is a probe.")
    return State("breaker open", "danger", f"Breaker open until {written(until)}, {after}. Its jobs wait.")


def written(at: datetime | None) -> str:
    return date_format(at, "DATETIME_FORMAT") if at else ""


TONES = {
    "delivering": "success",
    "paused": "warning",
    "channel paused": "warning",
    "disabled": "danger",
    "breaker open": "danger",
    "breaker half open": "warning",
}


class ChannelHoldFilter(RadioFilter):
    """What is held up, and what is not. Of several kinds, the strongest first, a row is of the first that holds."""

    title = "delivery"
    parameter_name = "delivery"
    kinds: dict[str, tuple[str, Q]] = {"paused": ("Paused", Q(state__paused_at__isnull=False))}

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [("delivering", "Delivering"), *((value, title) for value, (title, _) in self.kinds.items())]

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in ("delivering", *self.kinds):
            return queryset
        for kind, (_, held) in self.kinds.items():
            if kind == self.value():
                return queryset.filter(held)
            queryset = queryset.exclude(held)
        return queryset


class ConsumerHoldFilter(ChannelHoldFilter):
    kinds = {
        "disabled": ("Disabled", Q(state__disabled_at__isnull=False)),
        "paused": ("Paused", Q(state__paused_at__isnull=False)),
        "channel": ("Channel paused", Q(channel__state__paused_at__isnull=False)),
        "breaker": ("Breaker open", Q(circuit_breaker=True, state__breaker_until__isnull=False)),
    }


def state_of(row: Channel | Consumer) -> State:
    return of_consumer(row) if isinstance(row, Consumer) else of_channel(row.state)


def is_held(row: Channel | Consumer) -> bool:
    """Whether something of its own holds it up: resuming a consumer does not resume its channel."""
    columns = ("paused_at", "disabled_at", "breaker_until") if isinstance(row, Consumer) else ("paused_at",)
    return any(getattr(row.state, column) for column in columns)
