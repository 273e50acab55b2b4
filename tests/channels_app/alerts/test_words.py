"""Alerts and their rules in words: every kind, whatever its threshold."""

import pytest

from channels_app.alerts.words import limit, measure, sentence
from channels_app.models import Alert, AlertKind


@pytest.mark.parametrize(
    ("kind", "threshold", "words"),
    [
        ("depth", 0, "any open"),
        ("depth", 1_000, "above 1,000 open"),
        ("age", 86_400, "above 1 day"),
        ("success_rate", 90, "below 90 %"),
        ("success_rate", 99.95, "below 99.95 %"),
        ("schedule_lag", 0.5, "above 0.5 seconds"),
        ("oldest_waiting", 90.5, "above 1 minute, 30.5 seconds"),
        ("consumer_disabled", 0, "however short"),
        ("breaker_open", 1, "above 1 second"),
    ],
)
def test_a_threshold_is_told_as_it_is(kind: str, threshold: float, words: str) -> None:
    assert limit(kind, threshold) == words


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("depth", 1_234, "1,234 open"),
        ("success_rate", 89.96, "90.0 %"),
        ("schedule_lag", 0.4, "0.4 seconds"),
        ("schedule_lag", 1.04, "1 second"),
        ("schedule_lag", 59.97, "1 minute"),
        ("oldest_waiting", 90.4, "1 minute, 30 seconds"),
    ],
)
def test_what_was_measured_is_told_as_finely_as_it_matters(kind: str, value: float, words: str) -> None:
    assert measure(kind, value) == words


@pytest.mark.parametrize(
    ("kind", "threshold", "words"),
    [
        ("depth", 0, "There are open letters: 3 when it began."),
        ("age", 0, "There are open letters."),
        ("schedule_lag", 0, "Scheduled messages are late."),
        ("schedule_lag", 0.5, "Scheduled messages are more than 0.5 seconds late."),
        ("oldest_waiting", 0, "Jobs wait."),
        ("consumer_disabled", 0, "The consumer is disabled: nothing is sent to it."),
        ("breaker_open", 0, "All tries fail: the circuit breaker is open."),
        ("breaker_open", 600, "All tries have failed for more than 10 minutes: the circuit breaker is open."),
        ("no_progress", 0, "beat does nothing."),
        ("success_rate", 99.95, "Less than 99.95 % of the tries succeed: 3.0 % when it began."),
    ],
)
def test_an_alert_is_a_sentence(kind: str, threshold: float, words: str) -> None:
    assert sentence(Alert(kind=kind, threshold=threshold, value=3, part="beat")) == words


@pytest.mark.parametrize("kind", sorted(set(AlertKind.values) - {"success_rate"}))
def test_no_kind_speaks_of_more_than_nothing(kind: str) -> None:
    alert = Alert(kind=kind, threshold=0, value=3, part="beat")
    assert "more than 0" not in sentence(alert).lower()
    assert "0" not in limit(kind, 0)
