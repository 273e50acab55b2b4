"""The web server is killed under its publishers, and beat under everybody."""

from tests.chaos import invariants
from tests.chaos.broker import Broker
from tests.chaos.load import under_load
from tests.chaos.receiver import Receiver
from tests.chaos.scale import Scale


def test_what_a_killed_web_server_had_accepted_is_delivered_once(
    broker: Broker, receiver: Receiver, scale: Scale
) -> None:
    with under_load(broker, receiver, scale) as load:
        for _ in range(scale.blows):
            broker.parts.end("web")
            broker.parts.restart("web")
            load.flow()

    invariants.hold(load)
    # Publishers felt it; each sent again with the same id.
    assert load.troubles != []


def test_without_beat_messages_go_on_and_it_finds_its_place_again(
    broker: Broker, receiver: Receiver, scale: Scale
) -> None:
    with under_load(broker, receiver, scale) as load:
        for _ in range(scale.blows):
            broker.parts.end("beat")
            load.flow()
            broker.parts.restart("beat")
            load.flow()

    invariants.hold(load)
    assert load.troubles == []
