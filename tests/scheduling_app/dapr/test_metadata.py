"""The metadata of a request: its names, its values, and how an entry's own stands over it."""

import pytest

from scheduling_app.dapr.errors import InvalidMetadata
from scheduling_app.dapr.metadata import Wishes, from_query, merged, read, wants_raw


def test_nothing_asks_for_nothing() -> None:
    assert read({}) == Wishes()
    assert read({"partitionKey": "unknown names are nobody's business here"}) == Wishes()


@pytest.mark.parametrize(
    "name",
    [
        "scheduledSendTime",
        "deliverAt",
        "deliverAfter",
        "ScheduledEnqueueTimeUtc",
        "scheduledsendtime",
        "DELIVERAT",
    ],
)
def test_a_time_has_several_names(name: str) -> None:
    assert read({name: "30s"}).scheduled == "30s"


@pytest.mark.parametrize(
    ("metadata", "wishes"),
    [
        ({"ttlInSeconds": "60"}, Wishes(ttl_seconds=60)),
        ({"TTLINSECONDS": " 60"}, Wishes(ttl_seconds=60)),
        ({"ttlInSeconds": "9999999999"}, Wishes(ttl_seconds=2**31 - 1)),
        ({"rawPayload": "True"}, Wishes(raw=True)),
        ({"rawPayload": "1"}, Wishes(raw=True)),
        ({"rawPayload": "false"}, Wishes()),
        ({"priority": "-5"}, Wishes(priority=-5)),
        ({"cloudevent.type": "x", "CloudEvent.Subject": "y"}, Wishes(attributes={"type": "x", "subject": "y"})),
    ],
)
def test_values_are_read(metadata: dict[str, str], wishes: Wishes) -> None:
    assert read(metadata) == wishes


@pytest.mark.parametrize(
    "metadata",
    [
        {"ttlInSeconds": ""},
        {"ttlInSeconds": "0"},
        {"ttlInSeconds": "-1"},
        {"ttlInSeconds": "1.5"},
        {"ttlInSeconds": "9" * 5000},
        {"priority": "high"},
        {"priority": "2147483648"},
        {"rawPayload": "perhaps"},
        {"cloudevent.": "x"},
        {"cloudevent.data": "x"},
        {"cloudevent.data_base64": "x"},
        {"cloudevent.specversion": "2.0"},
        {"deliverAt": "30s", "deliverAfter": "30s"},
        {"rawPayload": "true", "RAWPAYLOAD": "false"},
        {"note": "\x00"},
        {"\ud800": "half a pair"},
        {"note": "x" * 20_000},
    ],
)
def test_what_cannot_be_read_is_refused(metadata: dict[str, str]) -> None:
    with pytest.raises(InvalidMetadata):
        read(metadata)


def test_only_metadata_of_a_query_counts() -> None:
    pairs = [("metadata.priority", "1"), ("other", "2"), ("Metadata.rawPayload", "true"), ("metadata.priority", "3")]
    assert from_query(pairs) == {"priority": "3", "rawPayload": "true"}


def test_an_entrys_own_word_replaces_the_requests_by_any_of_its_names() -> None:
    common = {"scheduledSendTime": "1h", "ttlInSeconds": "60"}
    assert merged(common, {"deliverAfter": "2h"}) == {"ttlInSeconds": "60", "deliverAfter": "2h"}
    assert merged(common, {}) == common
    assert merged({}, {"priority": "1"}) == {"priority": "1"}


def test_a_subscription_says_raw_as_a_publisher_does() -> None:
    assert wants_raw({"RAWPAYLOAD": " 1 ", "ttlInSeconds": "means nothing here"})
    assert not wants_raw({"rawPayload": "false"})
    assert not wants_raw({})
    with pytest.raises(InvalidMetadata):
        wants_raw({"rawPayload": "maybe"})
