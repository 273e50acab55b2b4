"""An alert in a sentence, for people."""

from collections.abc import Callable

from broker_project.lib.durations import in_words
from channels_app.models import Alert, AlertKind

_SAID: dict[str, Callable[[Alert], str]] = {
    AlertKind.DEPTH: lambda alert: (
        f"More than {_count(alert.threshold, 'open letter')}: {alert.value:,.0f} when it began."
    ),
    AlertKind.AGE: lambda alert: f"The oldest letter has waited for more than {_long(alert)}.",
    AlertKind.SUCCESS_RATE: lambda alert: (
        f"Less than {alert.threshold:g} % of the tries succeed: {alert.value:.1f} % when it began."
    ),
    AlertKind.SCHEDULE_LAG: lambda alert: f"Scheduled messages are more than {_long(alert)} late.",
    AlertKind.OLDEST_WAITING: lambda alert: f"The oldest job has waited for more than {_long(alert)}.",
    AlertKind.CONSUMER_DISABLED: lambda _alert: "The consumer is disabled: nothing is sent to it.",
    AlertKind.BREAKER_OPEN: lambda alert: (
        f"All tries have failed for more than {_long(alert)}: the circuit breaker is open."
    ),
    AlertKind.NO_PROGRESS: lambda alert: f"{alert.part} has done nothing for more than {_long(alert)}.",
}


def sentence(alert: Alert) -> str:
    return _SAID[alert.kind](alert)


def measure(kind: str, value: float) -> str:
    """A threshold or a value with its unit."""
    if kind == AlertKind.DEPTH:
        return f"{value:,.0f} open"
    return f"{value:.1f} %" if kind == AlertKind.SUCCESS_RATE else in_words(round(value))


def _long(alert: Alert) -> str:
    return in_words(round(alert.threshold))


def _count(number: float, thing: str) -> str:
    return f"{number:,.0f} {thing}{'' if number == 1 else 's'}"
