"""Durations, names and ids: pure words."""

import pytest

from broker_project.lib.patterns import PUBLIC_ID
from scheduling_app.querator import durations
from scheduling_app.querator.errors import InvalidOption
from scheduling_app.querator.item_ids import ItemId, LaterId, item_id, pivot
from scheduling_app.querator.names import channel_id, check_name, queue_name

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "nanoseconds", "shown"),
    [
        ("0", 0, "0s"),
        ("1ns", 1, "1ns"),
        ("1.5µs", 1500, "1.5µs"),
        ("2us", 2000, "2µs"),
        ("900ms", 900_000_000, "900ms"),
        ("1.5s", 1_500_000_000, "1.5s"),
        (".5s", 500_000_000, "500ms"),
        ("10s", 10 * SECOND, "10s"),
        ("1m", 60 * SECOND, "1m0s"),
        ("90s", 90 * SECOND, "1m30s"),
        ("24h", 86_400 * SECOND, "24h0m0s"),
        ("1h2m3.004s", 3723_004_000_000, "1h2m3.004s"),
        ("+5m", 300 * SECOND, "5m0s"),
    ],
)
def test_a_duration_is_read_and_shown_as_go_does(text: str, nanoseconds: int, shown: str) -> None:
    assert durations.parse("t", text) == nanoseconds
    assert durations.shown(nanoseconds) == shown


@pytest.mark.parametrize("text", ["", "5", "foo", "1d", "1 s", "s", "1m-5s", "\u0661s", "1" * 65 + "s", "1e3s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(InvalidOption):
        durations.parse("t", text)


def test_a_negative_duration_is_one() -> None:
    assert durations.parse("t", "-1m") == -60 * SECOND


@pytest.mark.parametrize("name", ["orders", "a.b_c-D", "größe", "a/b:c%", "日本"])
def test_a_name_becomes_an_id_and_back(name: str) -> None:
    assert check_name("n", name) == name
    assert PUBLIC_ID.fullmatch(channel_id(name))
    assert queue_name(channel_id(name)) == name


def test_ids_are_read_as_they_are_shown() -> None:
    assert item_id(str(ItemId(3, 17, 2))) == ItemId(3, 17, 2)
    assert pivot(str(LaterId(3, 17))) == LaterId(3, 17)
    assert pivot(str(ItemId(0, 1, 0))) == ItemId(0, 1, 0)
