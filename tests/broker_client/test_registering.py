"""Registration: made where it is missing, changed where it is there."""

import pytest

from broker_client import Broker, BrokerError, NotFound
from tests.broker_client.small_broker import LOST, Mishap, Said, SmallBroker


def test_put_makes_then_changes_by_the_brokers_names(small: SmallBroker, broker: Broker) -> None:
    broker.put_consumer("orders", "billing", type="pull", ack_timeout_seconds=30, retry_policy={"initial_seconds": 2})
    broker.put_consumer("orders", "billing", max_in_flight=5)

    assert small.registered["/channel/orders/consumer/billing"] == {
        "type": "pull",
        "ackTimeoutSeconds": 30,
        "retryPolicy": {"initialSeconds": 2},
        "maxInFlight": 5,
    }
    assert {heard.headers["authorization"] for heard in small.heard} == {"Bearer key"}


def test_put_is_done_when_the_answer_to_the_first_try_was_lost(small: SmallBroker, broker: Broker) -> None:
    small.mishaps.append(LOST)

    shown = broker.put_channel("orders", name="Orders", token="t")

    assert (shown.id, shown.name, shown.token) == ("orders", "Orders", "t")
    assert "'t'" not in repr(shown)


def test_what_is_not_there_is_not_found(broker: Broker) -> None:
    with pytest.raises(NotFound) as caught:
        broker.channel("nowhere")
    assert (caught.value.status, caught.value.code, caught.value.detail) == (404, "unknown", "There is nothing here.")


def test_what_is_no_answer_of_a_brokers_is_an_error_too(small: SmallBroker, broker: Broker) -> None:
    """A page of somebody else's, with a friendly status."""
    small.mishaps.append(Mishap(Said(200)))

    with pytest.raises(BrokerError) as caught:
        broker.channel("orders")
    assert (caught.value.status, caught.value.code) == (200, "unreadable_answer")
