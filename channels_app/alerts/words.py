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


# Nothing is "more than none".
_SAID_OF_ZERO: dict[str, Callable[[Alert], str]] = {
    AlertKind.DEPTH: lambda alert: f"There are open letters: {alert.value:,.0f} when it began.",
    AlertKind.AGE: lambda _alert: "There are open letters.",
    AlertKind.SCHEDULE_LAG: lambda _alert: "Scheduled messages are late.",
    AlertKind.OLDEST_WAITING: lambda _alert: "Jobs wait.",
    AlertKind.BREAKER_OPEN: lambda _alert: "All tries fail: the circuit breaker is open.",
    AlertKind.NO_PROGRESS: lambda alert: f"{alert.part} does nothing.",
}


def sentence(alert: Alert) -> str:
    said = _SAID if alert.threshold else {**_SAID, **_SAID_OF_ZERO}
    return said[alert.kind](alert)


def limit(kind: str, threshold: float) -> str:
    """What is worse than it should be, in the words of a list: 0 is a threshold too."""
    if kind == AlertKind.SUCCESS_RATE:
        return f"below {threshold:g} %"
    if kind == AlertKind.DEPTH:
        return f"above {threshold:,.10g} open" if threshold else "any open"
    return f"above {in_words(threshold)}" if threshold else "however short"


def measure(kind: str, value: float) -> str:
    """What was measured, with its unit. Of a short time parts of a second count: thresholds have them too."""
    if kind == AlertKind.DEPTH:
        return f"{value:,.0f} open"
    if kind == AlertKind.SUCCESS_RATE:
        return f"{value:.1f} %"
    return in_words(round(value, 1) if value < 60 else round(value))


def _long(alert: Alert) -> str:
    return in_words(alert.threshold)


def _count(number: float, thing: str) -> str:
    return f"{number:,.10g} {thing}{'' if number == 1 else 's'}"
