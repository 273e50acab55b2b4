"""Messages for later, by a running engine: web, workers, beat. The receiver's clock is the broker's."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from signal import SIGKILL

import psycopg
import pytest

from tests.acceptance.engine import CELERY, WORKER, Channel, Engine
from tests.acceptance.receiver import Receiver
from tests.acceptance.servers import Broker, wait_until

PATIENCE_SECONDS = 60.0
# With this interval no ring reaches further ahead than two seconds.
SETTINGS = {"MIN_SCHEDULE_DELAY_MINUTES": "0", "SCHEDULER_INTERVAL_MS": "1000"}
RESCHEDULE = """
from datetime import datetime
from scheduling_app import services
from scheduling_app.models import ScheduledMessage
message = ScheduledMessage.objects.get(message_id="{name}", channel__public_id="{channel}")
services.reschedule(message=message, to=datetime.fromisoformat("{to}"), by="a test")
print("done")
"""


@pytest.fixture(scope="module")
def broker(broker: Broker) -> Broker:
    broker.environment |= SETTINGS
    return broker


@pytest.fixture(scope="module")
def engine(own_engine: Engine) -> Engine:
    return own_engine


def moment(**ahead: float) -> datetime:
    return datetime.now(UTC) + timedelta(**ahead)


def schedule(channel: Channel, name: str, at: datetime) -> None:
    answer = channel.publish(name.encode(), Message_ID=name, Scheduled_For=at.isoformat())
    assert answer.status_code == 201, answer.text


def wait_for(receiver: Receiver, *names: str) -> None:
    wait_until(lambda: all(receiver.of(name) for name in names), PATIENCE_SECONDS)


def arrival(receiver: Receiver, name: str) -> float:
    """Of a message that came once."""
    [delivery] = receiver.of(name)
    return delivery.at


def message_rows(channel: Channel, broker: Broker) -> list[str]:
    with psycopg.connect(broker.database_url) as connection:
        rows = connection.execute(
            """SELECT message_id FROM message JOIN channel ON channel.id = channel_id
               WHERE public_id = %s ORDER BY message.id""",
            [channel.name],
        ).fetchall()
    return [row[0] for row in rows]


def test_three_in_a_row_arrive_in_order_and_none_early(engine: Engine, receiver: Receiver, broker: Broker) -> None:
    """Nothing else is published: nobody rings but their own time."""
    channel, begun = engine.channel(receiver), moment()
    due = {name: begun + timedelta(seconds=seconds) for name, seconds in (("third", 3), ("first", 1), ("second", 2))}
    for name, at in due.items():
        schedule(channel, name, at)

    wait_for(receiver, *due)

    assert [delivery.message_id for delivery in receiver.deliveries] == ["first", "second", "third"]
    assert all(arrival(receiver, name) >= at.timestamp() for name, at in due.items())
    assert message_rows(channel, broker) == ["first", "second", "third"]


def test_what_is_due_before_the_next_sweep_needs_no_beat(engine: Engine, receiver: Receiver) -> None:
    channel = engine.channel(receiver)
    with without_beat(engine):
        due = moment(seconds=1)
        schedule(channel, "soon", due)
        wait_for(receiver, "soon")

    assert arrival(receiver, "soon") >= due.timestamp()


def test_what_no_ring_reaches_is_found_by_the_sweep(engine: Engine, receiver: Receiver) -> None:
    channel, due = engine.channel(receiver), moment(seconds=4)
    schedule(channel, "later", due)
    schedule(channel, "far", moment(days=1))

    wait_for(receiver, "later")

    assert arrival(receiver, "later") >= due.timestamp()
    assert receiver.of("far") == []
    assert channel.read(f"/channel/{channel.name}/scheduled-message/far")["status"] == "SCHEDULED"


def test_a_message_moved_to_an_earlier_time_goes_then(engine: Engine, receiver: Receiver, broker: Broker) -> None:
    channel = engine.channel(receiver)
    schedule(channel, "moved", moment(days=1))
    due = moment(seconds=5)

    broker.manage("shell", "-c", RESCHEDULE.format(name="moved", channel=channel.name, to=due.isoformat()))
    wait_for(receiver, "moved")

    assert arrival(receiver, "moved") >= due.timestamp()
    assert message_rows(channel, broker) == ["moved"]


def test_a_message_whose_time_is_over_before_it_is_looked_at_goes_at_once(engine: Engine, receiver: Receiver) -> None:
    """As if the broker's clock had jumped: a lane whose first is overdue, and nobody rang."""
    channel = engine.channel(receiver)
    schedule(channel, "overdue", moment(days=1))
    with psycopg.connect(engine.broker.database_url) as connection:
        connection.execute(
            """UPDATE scheduled_message
               SET scheduled_for = now() - interval '3 years', due_at = now() - interval '1 day'
               WHERE message_id = 'overdue'"""
        )

    wait_for(receiver, "overdue")


def test_a_spread_channel_sends_each_at_its_own_moment(engine: Engine, receiver: Receiver, broker: Broker) -> None:
    channel, asked = engine.channel(receiver, spreadSeconds=3), moment(seconds=6)
    names = [f"s{number}" for number in range(20)]
    for name in names:
        schedule(channel, name, asked)

    wait_for(receiver, *names)

    with psycopg.connect(broker.database_url) as connection:
        due: dict[str, float] = dict(
            connection.execute(
                """SELECT message_id, extract(epoch FROM due_at)::float8 FROM scheduled_message
                   JOIN channel ON channel.id = channel_id WHERE public_id = %s""",
                [channel.name],
            ).fetchall()
        )
    assert len(set(due.values())) > 10
    assert all(arrival(receiver, name) >= due[name] >= asked.timestamp() for name in names)
    assert message_rows(channel, broker) == sorted(names, key=lambda name: due[name])


def test_a_release_rate_holds_back_what_is_due_at_once(engine: Engine, receiver: Receiver) -> None:
    """By no moment have more come than the rate allows, and in the end all have."""
    rate = 10
    channel, due = engine.channel(receiver, releasePerSecond=rate), moment(seconds=6)
    names = [f"r{number}" for number in range(30)]
    for name in names:
        schedule(channel, name, due)

    wait_for(receiver, *names)

    arrivals = sorted(arrival(receiver, name) for name in names)
    too_soon = [
        number for number, at in zip(count(1), arrivals, strict=False) if number > 1 + (at - due.timestamp()) * rate
    ]
    assert too_soon == []


def test_what_was_due_while_every_process_was_dead_is_delivered_once(
    engine: Engine, receiver: Receiver, broker: Broker
) -> None:
    """Last: it ends the engine, and begins another."""
    channel, due = engine.channel(receiver), moment(seconds=5)
    schedule(channel, "survivor", due)
    for process in broker.processes:
        process.send_signal(SIGKILL)
    for process in broker.processes:
        process.wait()
    assert receiver.of("survivor") == []
    wait_until(lambda: time.time() > due.timestamp() + 5, PATIENCE_SECONDS)

    begin_again(engine)
    wait_for(receiver, "survivor")

    location = f"/channel/{channel.name}/message/survivor"
    wait_until(lambda: statuses(engine, location) == ["DELIVERED"], PATIENCE_SECONDS)
    assert len(receiver.of("survivor")) == 1
    assert message_rows(channel, broker) == ["survivor"]


def statuses(engine: Engine, location: str) -> list[str]:
    return [job["status"] for job in engine.web.get(location).json()["jobs"]]


def begin_again(engine: Engine) -> None:
    start_beat(engine)
    engine.broker.start(*CELERY, *WORKER, "-c", "4", "-Q", "dispatch", "-n", "dispatch@%h")
    engine.start_delivery_worker()
    engine.web = engine.broker.serve()


@contextmanager
def without_beat(engine: Engine) -> Iterator[None]:
    [beat] = [process for process in engine.broker.processes if "beat" in process.args and process.poll() is None]  # type: ignore[operator]
    beat.send_signal(SIGKILL)
    beat.wait()
    try:
        yield
    finally:
        start_beat(engine)


def start_beat(engine: Engine) -> None:
    engine.broker.start(*CELERY, "beat", "--loglevel", "WARNING", "--pidfile=")
