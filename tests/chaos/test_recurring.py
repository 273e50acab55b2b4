"""Schedules of a second: their worker is killed in the middle of a tick, and two beats run at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import psycopg

from scheduling_app.recurring.template import message_id
from tests.acceptance.servers import wait_until
from tests.chaos import invariants
from tests.chaos.broker import SECOND_BEAT, Broker
from tests.chaos.load import PATIENCE_SECONDS, Load, add_channel
from tests.chaos.receiver import Receiver
from tests.chaos.scale import Scale

# Longer than from one sweep of beat to the next.
TICKS = 6
# The statement that stores ticks joins their schedules.
TICK_WAITS = """
SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND strpos(query, 'JOIN recurring_schedule r') > 0
"""
BEAT_SINCE = "SELECT 1 FROM progress WHERE name = 'beat' AND at > %s"
IS_THERE = "SELECT 1 FROM pg_stat_activity WHERE pid = %s"


@dataclass
class Pulse:
    """A schedule of a second, on a channel of its own."""

    load: Load
    channel: str
    first: datetime

    @classmethod
    def of(cls, load: Load) -> "Pulse":
        channel = add_channel(load.broker, [f"{load.receiver.url}/now"], "pulse")
        load.channels[channel] = ["k0"]
        every = {"producer": "shop", "intervalSeconds": 1, "missed": "all", "payload": "{{tick}}"}
        made = load.broker.web.put(_path(channel), json=every)
        assert made.status_code == 201, made.text
        return cls(load, channel, datetime.fromisoformat(made.json()["nextAt"]))

    def now(self) -> dict[str, Any]:
        return dict(self.load.broker.web.get(_path(self.channel)).json())

    def tick_more(self) -> None:
        enough = self.now()["ticks"] + TICKS
        wait_until(lambda: self.now()["ticks"] >= enough, PATIENCE_SECONDS)

    def stop(self) -> None:
        """From here on the load knows what there must be: a message a second from the first tick to the last."""
        assert self.load.broker.web.post(f"{_path(self.channel)}/pause", json={}).status_code == 200
        told = self.now()
        ticks = [self.first + timedelta(seconds=number) for number in range(told["ticks"])]
        assert ticks[-1] == datetime.fromisoformat(told["lastTickAt"])
        assert told["skipped"] == 0
        self.load.accepted |= {(self.channel, message_id("pulse", tick)) for tick in ticks}


def test_a_worker_killed_in_the_middle_of_a_tick_loses_none_and_makes_none_twice(
    broker: Broker, receiver: Receiver, scale: Scale
) -> None:
    pulse = Pulse.of(Load(broker, receiver, scale))
    pulse.tick_more()
    for _ in range(scale.blows):
        with _held_up(broker) as cut_off:
            broker.parts.end("worker-dispatch")
        # Its transaction ends with its connection, once PostgreSQL looks up from its work.
        wait_until(lambda: not broker.rows(IS_THERE, [cut_off]), PATIENCE_SECONDS)
        broker.parts.restart("worker-dispatch")
        pulse.tick_more()
    pulse.stop()

    invariants.hold(pulse.load)


def test_with_two_beats_each_tick_comes_once(broker: Broker, receiver: Receiver, scale: Scale) -> None:
    pulse = Pulse.of(Load(broker, receiver, scale))
    broker.parts.restart(SECOND_BEAT)
    pulse.tick_more()
    broker.parts.end("beat")
    _wait_for_beat(broker)
    pulse.tick_more()
    broker.parts.restart("beat")
    broker.parts.end(SECOND_BEAT)
    pulse.stop()

    invariants.hold(pulse.load)


def _wait_for_beat(broker: Broker) -> None:
    """The one that is left gives a sign of life."""
    [(now,)] = broker.rows("SELECT now()")
    wait_until(lambda: bool(broker.rows(BEAT_SINCE, [now])), PATIENCE_SECONDS)


def _path(channel: str) -> str:
    return f"/channel/{channel}/schedule/pulse"


@contextmanager
def _held_up(broker: Broker) -> Iterator[int]:
    """A tick has taken its schedule and waits for the table that it writes to: which connection that is."""
    with psycopg.connect(broker.urls["DATABASE_URL"]) as connection:
        connection.execute("LOCK TABLE scheduled_message IN SHARE MODE")
        wait_until(lambda: bool(broker.rows(TICK_WAITS)), PATIENCE_SECONDS)
        [(pid,)] = broker.rows(TICK_WAITS)
        yield pid
