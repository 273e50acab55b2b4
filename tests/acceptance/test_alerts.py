"""A real engine raises alerts: of a consumer that fails, and of its own parts, even when nobody is left to sweep."""

import json
import subprocess
from collections.abc import Iterator

import psycopg
import pytest

from tests.acceptance.engine import CELERY, Engine
from tests.acceptance.receiver import Receiver, receiving
from tests.acceptance.servers import Broker, wait_until
from tests.channels_app.alerts.post_office import PostOffice, post_office

# Quick ones, so that nobody waits for minutes.
_QUICK = """
UPDATE alert_rule SET hold_seconds = 0, threshold = CASE kind WHEN 'no_progress' THEN 30 ELSE threshold END,
       least_tries = 5
"""


@pytest.fixture(scope="module")
def operations() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


@pytest.fixture(scope="module")
def office() -> Iterator[PostOffice]:
    with post_office() as made:
        yield made


@pytest.fixture(scope="module")
def engine(broker: Broker, operations: Receiver, office: PostOffice, request: pytest.FixtureRequest) -> Engine:
    with psycopg.connect(broker.database_url, autocommit=True) as connection:
        connection.execute(_QUICK)
    broker.environment |= {
        "OPERATIONS_WEBHOOK_URL": f"{operations.url}/alerts",
        "EMAIL_HOST": "127.0.0.1",
        "EMAIL_PORT": str(office.port),
        "EMAIL_SECURITY": "none",
        "ALERT_EMAILS": "ops@example.com",
    }
    started: Engine = request.getfixturevalue("own_engine")
    return started


def told(operations: Receiver, kind: str, about: str) -> list[str]:
    """What was posted of this consumer, channel or part: began, ended, …"""
    bodies = [json.loads(delivery.body) for delivery in list(operations.deliveries)]
    return [
        body["type"].rpartition("_")[2]
        for body in bodies
        if body["kind"] == kind and about in (body["channel"], body["part"])
    ]


def mailed(office: PostOffice, *words: str) -> bool:
    texts = [f"{letter.mail['Subject']}\n{letter.text}" for letter in list(office.letters)]
    return any(all(word in text for word in words) for text in texts)


def beat_of(engine: Engine) -> "subprocess.Popen[bytes]":
    return next(process for process in reversed(engine.broker.processes) if "beat" in process.args)  # type: ignore[operator]


def test_a_consumer_whose_tries_fail_is_told_of_by_webhook_and_mail_and_when_it_is_well_again(
    engine: Engine, operations: Receiver, office: PostOffice, receiver: Receiver
) -> None:
    receiver.answer = lambda _delivery: 500
    channel = engine.channel(receiver, retryPolicy={"retries": 0})
    for _ in range(6):
        channel.publish()
    wait_until(lambda: told(operations, "success_rate", channel.name) == ["began"], 60)
    wait_until(lambda: mailed(office, "Alert: Deliveries fail", f"{channel.name} / k"), 30)
    shown = engine.web.get("/alerts?state=open").json()["result"]
    assert [one["rule"] for one in shown if one["channel"] == channel.name] == ["Deliveries fail"]

    receiver.answer = lambda _delivery: 200
    for _ in range(100):
        channel.publish()
    wait_until(lambda: told(operations, "success_rate", channel.name) == ["began", "ended"], 60)
    wait_until(lambda: mailed(office, "Over: Deliveries fail", f"{channel.name} / k"), 30)


def test_a_beat_that_was_killed_is_told_of_by_those_who_are_left(
    engine: Engine, operations: Receiver, office: PostOffice
) -> None:
    """On a busy machine beat may have stood still before: what counts is what was told last."""
    beat_of(engine).kill()
    wait_until(lambda: told(operations, "no_progress", "beat")[-1:] == ["began"], 120)
    wait_until(lambda: mailed(office, "beat has done nothing"), 30)

    engine.broker.start(*CELERY, "beat", "--loglevel", "WARNING", "--pidfile=")
    wait_until(lambda: told(operations, "no_progress", "beat")[-1:] == ["ended"], 120)


def test_without_redis_the_web_servers_tell_that_nothing_moves(engine: Engine, operations: Receiver) -> None:
    """A web server of its own that never had a Redis, while workers and beat are gone."""
    engine.broker.stop()
    engine.broker.processes.clear()
    engine.broker.serve(REDIS_URL="redis://127.0.0.1:1/0")

    wait_until(lambda: "began" in told(operations, "no_progress", "delivery"), 120)
    wait_until(lambda: told(operations, "no_progress", "beat")[-1:] == ["began"], 120)
