"""Redis forgets, is away, or hangs: it only rings, so this costs time and nothing else."""

from collections.abc import Callable
from signal import SIGCONT, SIGSTOP, SIGTERM

import redis

from tests.chaos import invariants
from tests.chaos.broker import Broker
from tests.chaos.conftest import FIGURE
from tests.chaos.load import under_load
from tests.chaos.receiver import Receiver
from tests.chaos.scale import Scale


def test_a_redis_that_forgets_everything_costs_nothing(broker: Broker, receiver: Receiver, scale: Scale) -> None:
    with under_load(broker, receiver, scale) as load, redis.Redis.from_url(broker.urls["REDIS_URL"]) as client:
        for _ in range(3 * scale.blows):
            client.flushall()
            load.flow()

    invariants.hold(load)
    assert load.troubles == []


def test_while_redis_is_away_messages_are_accepted_and_then_delivered(
    broker: Broker, receiver: Receiver, scale: Scale
) -> None:
    with under_load(broker, receiver, scale) as load:
        for _ in range(scale.blows):
            broker.parts.end("redis", SIGTERM)
            load.go_on_for(scale.redis_away_seconds)
            broker.parts.restart("redis")
            load.flow()

    invariants.hold(load)
    assert load.troubles == []


def test_while_redis_hangs_no_publisher_waits_for_it(
    broker: Broker, receiver: Receiver, scale: Scale, record_property: Callable[[str, object], None]
) -> None:
    with under_load(broker, receiver, scale) as load:
        before = len(load.publish_seconds)
        broker.parts.send("redis", SIGSTOP)
        load.go_on_for(scale.redis_frozen_seconds)
        measured, p99 = len(load.publish_seconds) - before, load.p99_ms(since=before)
        broker.parts.send("redis", SIGCONT)
        load.flow()

    invariants.hold(load)
    assert load.troubles == []
    seconds = scale.redis_frozen_seconds
    record_property(FIGURE, f"Redis hung for {seconds:.0f} s: {measured} messages accepted, p99 {p99:.1f} ms")
