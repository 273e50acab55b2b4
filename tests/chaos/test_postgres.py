"""PostgreSQL holds the truth, also when it is torn away in the middle of a transaction."""

from signal import SIGQUIT

from tests.chaos import invariants
from tests.chaos.broker import Broker
from tests.chaos.load import under_load
from tests.chaos.receiver import Receiver
from tests.chaos.scale import Scale


def test_an_immediate_restart_of_postgresql_loses_nothing(broker: Broker, receiver: Receiver, scale: Scale) -> None:
    with under_load(broker, receiver, scale) as load:
        for _ in range(scale.blows):
            # What `pg_ctl restart -m immediate` does, with a server that stays the test's own child.
            broker.parts.end("postgres", SIGQUIT)
            broker.parts.restart("postgres")
            broker.note_in_flight()
            load.flow()

    invariants.hold(load)
