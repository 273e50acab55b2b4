"""Which rule speaks of a number, what it says, and what becomes of an episode: tables of cases."""

from datetime import UTC, datetime, timedelta

import pytest

from channels_app.alerts.judging import Move, closest, first_move, move_open, move_suspected, read
from channels_app.alerts.values import Measured, Reading, Rule, Subject
from channels_app.models import AlertKind

NOW = datetime(2030, 1, 1, tzinfo=UTC)
HOLD = timedelta(seconds=60)
CROSSED, CALM, UNKNOWN = Reading.CROSSED, Reading.CALM, Reading.UNKNOWN


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def rule(
    key: str = "all",
    kind: AlertKind = AlertKind.DEPTH,
    *,
    threshold: float = 10,
    least_tries: int = 0,
    hold_seconds: int = 0,
    channel_id: int | None = None,
    consumer_id: int | None = None,
) -> Rule:
    return Rule(key, key, kind, threshold, hold_seconds, channel_id, consumer_id, least_tries)


@pytest.mark.parametrize(
    ("kind", "value", "tries", "expected"),
    [
        (AlertKind.DEPTH, 10, 0, CALM),
        (AlertKind.DEPTH, 10.5, 0, CROSSED),
        (AlertKind.OLDEST_WAITING, None, 0, UNKNOWN),
        (AlertKind.SUCCESS_RATE, 10, 100, CALM),
        (AlertKind.SUCCESS_RATE, 9.9, 20, CROSSED),
        (AlertKind.SUCCESS_RATE, 9.9, 19, UNKNOWN),
        (AlertKind.SUCCESS_RATE, 50, 1, CALM),
        (AlertKind.SUCCESS_RATE, None, 0, UNKNOWN),
    ],
)
def test_a_number_is_read_by_its_kind(kind: AlertKind, value: float | None, tries: int, expected: Reading) -> None:
    assert read(rule(kind=kind, least_tries=20), Measured(Subject(1, 2), value, tries)) is expected


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (Subject(1), ["channel"]),
        (Subject(2), ["all", "all too"]),
        (Subject(1, 7), ["consumer"]),
        (Subject(1, 8), ["channel"]),
        (Subject(part="beat"), ["all", "all too"]),
    ],
)
def test_the_closest_rules_decide(subject: Subject, expected: list[str]) -> None:
    rules = [rule("all"), rule("all too"), rule("channel", channel_id=1), rule("consumer", consumer_id=7)]
    assert [one.key for one in closest(rules, Measured(subject, 1.0))] == expected


@pytest.mark.parametrize(
    ("hold_seconds", "reading", "expected"),
    [
        (0, CROSSED, Move.BEGIN),
        (60, CROSSED, Move.SUSPECT),
        (0, CALM, Move.KEEP),
        (60, UNKNOWN, Move.KEEP),
    ],
)
def test_an_episode_begins_at_once_or_is_suspected_first(hold_seconds: int, reading: Reading, expected: Move) -> None:
    assert first_move(rule(hold_seconds=hold_seconds), reading) is expected


@pytest.mark.parametrize(
    ("reading", "crossed_for", "expected"),
    [
        (CROSSED, 59, Move.KEEP),
        (CROSSED, 60, Move.BEGIN),
        (CALM, 59, Move.FORGET),
        (CALM, 600, Move.FORGET),
        (UNKNOWN, 600, Move.KEEP),
    ],
)
def test_what_is_suspected_has_to_hold(reading: Reading, crossed_for: float, expected: Move) -> None:
    assert move_suspected(reading, crossed_at=ago(crossed_for), hold=HOLD, now=NOW) is expected


@pytest.mark.parametrize(
    ("reading", "calm_for", "hold", "expected"),
    [
        (CROSSED, None, HOLD, Move.KEEP),
        (CROSSED, 30, HOLD, Move.STIR),
        (CALM, None, HOLD, Move.CALM),
        (CALM, 59, HOLD, Move.KEEP),
        (CALM, 60, HOLD, Move.END),
        (CALM, None, timedelta(), Move.END),
        (UNKNOWN, None, HOLD, Move.KEEP),
        (UNKNOWN, 600, HOLD, Move.KEEP),
    ],
)
def test_an_open_episode_ends_when_it_was_over_for_long_enough(
    reading: Reading, calm_for: float | None, hold: timedelta, expected: Move
) -> None:
    calm_at = None if calm_for is None else ago(calm_for)
    assert move_open(reading, calm_at=calm_at, hold=hold, now=NOW) is expected
