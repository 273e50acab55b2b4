"""Recurring schedules with real workers and beat."""

from tests.acceptance.engine import Engine
from tests.acceptance.receiver import Receiver
from tests.acceptance.servers import wait_until


def test_a_schedule_of_a_second_ticks_every_second_and_each_tick_arrives_once(
    engine: Engine, receiver: Receiver
) -> None:
    channel = engine.channel(receiver)
    path = f"/channel/{channel.name}/schedule/pulse"

    made = engine.web.put(
        path, json={"producer": "shop", "intervalSeconds": 1, "missed": "all", "payload": "{{scheduled_for}}"}
    )
    assert made.status_code == 201, made.text
    wait_until(lambda: len(receiver.deliveries) >= 4, 30)
    engine.web.post(f"{path}/pause", json={"note": "enough"})
    ticks = engine.web.get(path).json()["ticks"]
    wait_until(lambda: len(receiver.deliveries) >= ticks, 15)

    sent = sorted(delivery.body.decode() for delivery in receiver.deliveries)
    assert len(sent) == len(set(sent)) == ticks
    assert sent[0] == made.json()["nextAt"]
    assert [delivery.message_id for delivery in receiver.deliveries if "pulse-" not in delivery.message_id] == []
