"""/metrics as Prometheus reads it: from real web servers, with the counts of real workers."""

import re
import signal
import socket
import subprocess
from collections.abc import Iterator

import httpx
import psycopg
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as plain_text

from tests.acceptance.engine import CELERY, WORKER, Engine
from tests.acceptance.receiver import Receiver
from tests.acceptance.servers import ROOT, Broker, wait_until

DOCUMENT = ROOT / "docs" / "metrics.md"
FAILING = "broker_scrape_errors", 1.0
_PULL = "UPDATE consumer SET type = 'pull' WHERE channel_id = (SELECT id FROM channel WHERE public_id = %s)"
_OLDER = """
UPDATE delivery_job SET created_at = now() - make_interval(secs => 7200)
WHERE priority = 0 AND channel_id = (SELECT id FROM channel WHERE public_id = %s)
"""
_HELD_FOR_AN_HOUR = """
UPDATE delivery_job SET received_at = now() - make_interval(secs => 3600)
WHERE status = 1002 AND channel_id = (SELECT id FROM channel WHERE public_id = %s)
"""
_DUE_A_MINUTE_AGO = """
UPDATE scheduled_message SET due_at = now() - interval '1 minute', scheduled_for = now() - interval '1 minute'
WHERE channel_id = (SELECT id FROM channel WHERE public_id = %s)
"""
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture
def hung_redis() -> Iterator[str]:
    """It takes connections and never says a word."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(100)
        yield f"redis://127.0.0.1:{listening.getsockname()[1]}/0"


def scraped(web: httpx.Client) -> Samples:
    answer = web.get("/metrics")
    assert answer.status_code == 200, answer.text
    samples = [sample for family in plain_text(answer.text) for sample in family.samples]
    found = {(sample.name, frozenset(sample.labels.items())): sample.value for sample in samples}
    assert len(found) == len(samples), "a series was told twice"
    return found


def value(web: httpx.Client, name: str, **labels: str) -> float | None:
    return scraped(web).get((name, frozenset(labels.items())))


def total(web: httpx.Client, name: str, channels: set[str]) -> float:
    """The sum over these channels, whatever the other labels."""
    found = scraped(web).items()
    return sum(number for (each, labels), number in found if each == name and dict(labels).get("channel") in channels)


def start_another_worker(broker: Broker) -> subprocess.Popen[bytes]:
    return broker.start(*CELERY, *WORKER, "-c", "8", "-Q", "delivery", "-n", "another@%h")


def documented() -> set[str]:
    return set(re.findall(r"^\| `(broker_\w+)` \|", DOCUMENT.read_text(), re.MULTILINE))


@pytest.fixture(scope="module")
def engine(own_engine: Engine) -> Engine:
    return own_engine


def test_the_documented_metrics_are_the_ones_there_are(engine: Engine) -> None:
    shown = re.findall(r"^# TYPE (\S+) ", engine.web.get("/metrics").text, re.MULTILINE)

    assert sorted(shown) == sorted(documented())


def test_each_metric_has_the_documented_type_and_labels(engine: Engine, receiver: Receiver) -> None:
    rows = re.findall(r"^\| `(broker_\w+)` \| (\w+) \| ([\w, ]*) \|", DOCUMENT.read_text(), re.MULTILINE)
    channel = engine.channel(receiver)
    channel.publish()
    wait_until(lambda: total(engine.web, "broker_end_to_end_seconds_count", {channel.name}) == 1, 15)
    families = {family.name: family for family in plain_text(engine.web.get("/metrics").text)}

    for name, kind, labels in rows:
        family = families[name.removesuffix("_total")]
        assert family.type == kind, name
        for sample in family.samples:
            assert sample.labels.keys() - {"le"} == set(filter(None, labels.replace(" ", "").split(","))), name


def test_open_metrics_is_for_those_who_ask(engine: Engine) -> None:
    plain = engine.web.get("/metrics", headers={"Accept": "text/plain;version=nonsense, */*"})
    asked = engine.web.get(
        "/metrics", headers={"Accept": "application/openmetrics-text;version=1.0.0;q=0.6, */*;q=0.1"}
    )

    assert plain.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert asked.headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert {family.name for family in open_metrics(asked.text)} == {family.name for family in plain_text(plain.text)}  # type: ignore[no-untyped-call]


def test_a_key_is_needed_unless_metrics_are_open(engine: Engine, broker: Broker) -> None:
    strangers = [httpx.get(f"{engine.web.base_url}/metrics"), engine.web.get("/metrics", auth=("a", "b"))]
    wrong = engine.web.get("/metrics", headers={"Authorization": "Bearer bk_wrong"})
    opened = broker.serve(METRICS_OPEN="true")

    assert [answer.status_code for answer in (*strangers, wrong)] == [401, 401, 401]
    assert (wrong.json()["code"], wrong.headers["WWW-Authenticate"]) == ("not_authenticated", "Bearer")
    assert httpx.get(f"{opened.base_url}/metrics").status_code == 200
    assert opened.post("/metrics").status_code == 405


def test_counts_of_two_workers_and_two_web_servers_add_up(engine: Engine, broker: Broker, receiver: Receiver) -> None:
    other = broker.serve()
    another = start_another_worker(broker)
    channels = [engine.channel(receiver) for _ in range(6)]
    names = {channel.name for channel in channels}

    for channel in channels:
        for web in (engine.web, other) * 5:
            channel.web = web
            assert channel.publish().status_code == 201

    wait_until(lambda: total(other, "broker_attempts_total", names) == 60, 60)
    assert _attempts(broker, names) == 60
    for web in (engine.web, other):
        for name in ("messages_accepted_total", "messages_dispatched_total", "jobs", "delivery_seconds_count"):
            wait_until(lambda: total(web, f"broker_{name}", names) == 60, 15)  # noqa: B023
        assert total(web, "broker_end_to_end_seconds_count", names) == 60
    end(another, signal.SIGTERM)


def test_what_a_worker_counted_outlives_it(engine: Engine, broker: Broker, receiver: Receiver) -> None:
    channel = engine.channel(receiver)
    for _ in range(5):
        channel.publish()
    wait_until(lambda: len(receiver.deliveries) == 5, 15)

    engine.end_delivery_worker(signal.SIGTERM)
    engine.start_delivery_worker()
    for _ in range(5):
        channel.publish()

    wait_until(lambda: value(engine.web, "broker_attempts_total", channel=channel.name, outcome="ok") == 10, 60)
    assert value(engine.web, "broker_jobs", channel=channel.name, consumer="k", state="DELIVERED") == 10


def test_failures_and_dead_jobs_are_told_by_reason(engine: Engine, receiver: Receiver) -> None:
    receiver.answer = lambda _delivery: 500
    channel = engine.channel(receiver, retryPolicy={"retries": 1, "initialSeconds": 0.1})
    channel.publish()

    of_channel = {"channel": channel.name}
    wait_until(lambda: value(engine.web, "broker_attempts_total", **of_channel, outcome="http_5xx") == 2, 20)
    assert value(engine.web, "broker_dead_jobs", **of_channel, consumer="k", reason="http_5xx") == 1
    assert value(engine.web, "broker_dead_letters", **of_channel, consumer="k", reason="http_5xx") == 1
    assert value(engine.web, "broker_dead_letters_entered_total", **of_channel) == 1
    assert value(engine.web, "broker_oldest_dead_letter_seconds", **of_channel) is not None
    assert value(engine.web, "broker_delivery_seconds_count", **of_channel, outcome="failed") == 2
    assert value(engine.web, "broker_end_to_end_seconds_count", **of_channel, outcome="dead") == 1
    assert (value(engine.web, "broker_end_to_end_seconds_sum", **of_channel, outcome="dead") or 0) >= 0.1


def test_what_waits_is_told_with_its_age(engine: Engine, broker: Broker, receiver: Receiver) -> None:
    channel = engine.channel(receiver)
    of_consumer = {"channel": channel.name, "consumer": "k"}
    with psycopg.connect(broker.database_url, autocommit=True) as database:
        # A pull consumer that nobody asks for: its jobs stay, the older with the lower priority.
        database.execute(_PULL, (channel.name,))
        for priority in ("0", "7"):
            channel.publish(Message_Priority=priority)
        wait_until(lambda: value(engine.web, "broker_jobs", **of_consumer, state="QUEUED") == 2, 15)
        database.execute(_OLDER, (channel.name,))

    wait_until(lambda: (value(engine.web, "broker_oldest_waiting_seconds", **of_consumer) or 0) >= 7200, 10)


def test_what_a_consumer_has_is_told_with_its_age_and_how_far_behind_a_poller_is(
    engine: Engine, broker: Broker, receiver: Receiver
) -> None:
    channel = engine.channel(receiver)
    of_leaser, of_poller = ({"channel": channel.name, "consumer": name} for name in ("leaser", "poller"))
    for name, mode in (("leaser", "lease"), ("poller", "index")):
        kind = {"type": "pull", "pullMode": mode, "token": "mine"}
        engine.web.put(f"/channel/{channel.name}/consumer/{name}", json=kind).raise_for_status()
    for _ in range(3):
        channel.publish()
    wait_until(lambda: value(engine.web, "broker_index_lag", **of_poller) == 3, 15)
    assert value(engine.web, "broker_index_lag", **of_leaser) is None
    assert value(engine.web, "broker_oldest_unacked_seconds", **of_leaser) is None

    tokens = {"X-Broker-Channel-Token": "open", "X-Broker-Consumer-Token": "mine"}
    engine.web.post(f"/channel/{channel.name}/consumer/leaser/lease", headers=tokens).raise_for_status()
    with psycopg.connect(broker.database_url, autocommit=True) as database:
        database.execute(_HELD_FOR_AN_HOUR, (channel.name,))

    wait_until(lambda: (value(engine.web, "broker_oldest_unacked_seconds", **of_leaser) or 0) >= 3600, 10)


def test_a_consumer_that_was_disabled_shows(engine: Engine, receiver: Receiver) -> None:
    receiver.answer = lambda _delivery: 410
    channel = engine.channel(receiver)
    of_consumer = {"channel": channel.name, "consumer": "k"}
    wait_until(lambda: value(engine.web, "broker_consumer_disabled", **of_consumer) == 0, 10)

    channel.publish()

    wait_until(lambda: value(engine.web, "broker_consumer_disabled", **of_consumer) == 1, 15)
    assert value(engine.web, "broker_consumer_breaker_open", **of_consumer) == 0
    assert value(engine.web, "broker_channel_paused", channel=channel.name) == 0


def test_rings_sweeps_queues_and_signs_of_progress_show(engine: Engine, receiver: Receiver) -> None:
    engine.channel(receiver).publish()

    wait_until(lambda: (value(engine.web, "broker_doorbell_rings_total", bell="deliver", result="sent") or 0) > 0, 15)
    wait_until(lambda: (value(engine.web, "broker_sweep_moved_total", sweep="fan_out") or 0) > 0, 15)
    wait_until(lambda: (value(engine.web, "broker_sweep_runs_total", sweep="fold_counters") or 0) > 0, 15)
    found = scraped(engine.web)
    assert {dict(labels)["part"] for name, labels in found if name == "broker_progress_age_seconds"} == {
        "alerts",
        "alerts-told",
        "beat",
        "delivery",
        "dispatch",
    }
    assert {dict(labels)["queue"] for name, labels in found if name == "broker_queue_depth"} == {
        "delivery",
        "dispatch",
        "reports",
    }


def test_a_message_for_later_is_counted_as_it_waits_and_with_its_lag_when_it_goes(
    engine: Engine, broker: Broker, receiver: Receiver
) -> None:
    channel = engine.channel(receiver)
    of_channel = {"channel": channel.name}
    assert channel.publish(Scheduled_For="2100-01-01T00:00:00Z").status_code == 201
    wait_until(lambda: value(engine.web, "broker_scheduled_waiting", **of_channel) == 1, 15)
    assert value(engine.web, "broker_scheduled_created_total", **of_channel) == 1
    assert value(engine.web, "broker_scheduled_oldest_overdue_seconds", **of_channel) is None

    with psycopg.connect(broker.database_url, autocommit=True) as database:
        database.execute(_DUE_A_MINUTE_AGO, (channel.name,))

    wait_until(lambda: value(engine.web, "broker_schedule_lag_seconds_count", **of_channel) == 1, 20)
    assert value(engine.web, "broker_schedule_lag_seconds_bucket", **of_channel, le="30.0") == 0
    assert value(engine.web, "broker_scheduled_dispatched_total", **of_channel) == 1
    assert value(engine.web, "broker_scheduled_waiting", **of_channel) == 0
    assert (value(engine.web, "broker_sweep_runs_total", sweep="scheduling_app.sweep") or 0) > 0


def test_a_channel_made_anew_goes_on_counting(engine: Engine, broker: Broker, receiver: Receiver) -> None:
    channel = engine.channel(receiver)
    channel.publish()
    wait_until(lambda: value(engine.web, "broker_messages_dispatched_total", channel=channel.name) == 1, 15)
    with psycopg.connect(broker.database_url, autocommit=True) as database:
        database.execute("UPDATE channel SET deleted_at = now() WHERE public_id = %s", (channel.name,))
    wait_until(lambda: value(engine.web, "broker_messages_accepted_total", channel=channel.name) is None, 10)

    engine.web.put(f"/channel/{channel.name}", json={"token": "open"})
    wait_until(lambda: channel.publish().status_code == 201, 10)

    wait_until(lambda: value(engine.web, "broker_messages_accepted_total", channel=channel.name) == 2, 10)


def test_a_redis_that_hangs_costs_its_own_metrics_only(
    engine: Engine, broker: Broker, receiver: Receiver, hung_redis: str
) -> None:
    channel = engine.channel(receiver)
    channel.publish()
    web = broker.serve(REDIS_URL=hung_redis)

    found = scraped(web)

    assert {dict(labels)["source"] for (name, labels), number in found.items() if (name, number) == FAILING} == {
        "channels",
        "activity",
        "queues",
        "scheduling",
    }
    assert found["broker_messages_accepted_total", frozenset({("channel", channel.name)})] == 1


def test_without_a_database_metrics_are_503(broker: Broker) -> None:
    web = broker.serve(DATABASE_URL=f"{broker.database_url}_gone", METRICS_OPEN="true")

    refused = [web.get("/metrics"), web.get("/metrics")]

    assert [(answer.status_code, answer.json()["code"]) for answer in refused] == [(503, "storage_away")] * 2


def _attempts(broker: Broker, names: set[str]) -> int:
    with psycopg.connect(broker.database_url) as database:
        row = database.execute(
            "SELECT count(*) FROM delivery_attempt JOIN delivery_job j ON j.id = job_id"
            " JOIN channel ON channel.id = j.channel_id WHERE public_id = ANY(%s)",
            (list(names),),
        ).fetchone()
    assert row
    return int(row[0])


def end(process: subprocess.Popen[bytes], blow: signal.Signals) -> None:
    process.send_signal(blow)
    process.wait(timeout=60)
