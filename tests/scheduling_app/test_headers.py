"""The headers of a broadcast."""

import pytest

from broker_project.lib.errors import BrokerError
from broker_project.lib.metadata import InvalidHeader, ReservedHeader
from scheduling_app.api.headers import (
    Headers,
    InvalidMessageId,
    InvalidPriority,
    RepeatedHeader,
)


def headers(**values: str) -> Headers:
    return Headers.of([(name.replace("_", "-").encode(), value.encode("latin1")) for name, value in values.items()])


@pytest.mark.parametrize(("text", "priority"), [("0", 0), ("-7", -7), ("+3", 3), ("2147483647", 2**31 - 1)])
def test_a_priority_is_a_whole_number(text: str, priority: int) -> None:
    assert headers(x_broker_message_priority=text).priority() == priority


@pytest.mark.parametrize(
    "text", ["", "1.5", "high", "2147483648", "-2147483649", "9" * 40, "1 ", "٣".encode().decode("latin1")]
)
def test_another_priority_is_refused(text: str) -> None:
    with pytest.raises(InvalidPriority):
        headers(x_broker_message_priority=text).priority()


@pytest.mark.parametrize("text", ["", "a b", "a/b", "a" * 256, "ü"])
def test_a_message_id_that_is_not_legal_is_refused(text: str) -> None:
    with pytest.raises(InvalidMessageId):
        headers(x_broker_message_id=text).message_id()


def test_listed_headers_are_kept_under_the_names_given() -> None:
    kept = headers(x_broker_metadata_headers="X-Trace, x-Tenant", x_trace="1", x_tenant="a, b").metadata()

    assert kept == {"X-Trace": "1", "x-Tenant": "a, b"}


@pytest.mark.parametrize(
    ("listed", "refusal"),
    [
        ("Host", ReservedHeader),
        ("Content-Type", ReservedHeader),
        ("authorization", ReservedHeader),
        ("X-Broker-Channel-Token", ReservedHeader),
        ("webhook-signature", ReservedHeader),
        ("Cookie", ReservedHeader),
        ("X_Broker_Consumer_Token", ReservedHeader),
        ("Transfer-Encoding", ReservedHeader),
        ("X-Not-There", InvalidHeader),
        ("X Bad", InvalidHeader),
    ],
)
def test_a_header_that_is_not_the_producers_is_refused(listed: str, refusal: type[BrokerError]) -> None:
    with pytest.raises(refusal):
        headers(x_broker_metadata_headers=listed).metadata()


def test_metadata_has_a_size() -> None:
    with pytest.raises(InvalidHeader):
        headers(x_broker_metadata_headers="X-Large", x_large="a" * 20_000).metadata()


def test_a_header_sent_twice_is_refused() -> None:
    twice = Headers.of([(b"x-broker-message-id", b"a"), (b"x-broker-message-id", b"b")])

    with pytest.raises(RepeatedHeader):
        twice.message_id()
