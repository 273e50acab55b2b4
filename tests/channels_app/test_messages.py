"""Messages read, listed and expunged over HTTP."""

import threading
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext

from broker_project.lib.conditions import Condition
from channels_app import services
from channels_app.delivery.fanout import fan_out
from channels_app.errors import MessageInFlight
from channels_app.models import ChannelState, DeliveryJob, JobStatus, Message, MessageKey
from channels_app.selectors import message_counts
from tests.acceptance.servers import wait_until
from tests.channels_app.locks import somebody_waits
from tests.channels_app.messages import dispatch, make_messages, rows_touched
from tests.channels_app.registry import make_channel, make_consumer, problem
from tests.channels_app.staff import log_in

pytestmark = pytest.mark.django_db
PATH = "/channel/orders/message/m"


@pytest.fixture
def message() -> Message:
    """One for two consumers, dispatched."""
    channel = make_channel(token="open")
    make_consumer(channel)
    make_consumer(channel, "audit")
    [made] = make_messages(channel, "m", payload=b"a secret")
    dispatch(channel)
    return made


def put_in_flight(message: Message) -> None:
    job = DeliveryJob.objects.filter(message=message).order_by("pk")[:1]
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE delivery_job SET status = 1002, lease_until = now() + interval '1 hour' WHERE id = %s", [job[0].pk]
        )


def test_a_message_shows_its_jobs_by_consumer(api: Client, message: Message) -> None:
    body = api.get(PATH).json()

    assert (body["payload"], body["status"], body["expungedAt"]) == ("a secret", "DISPATCHED", None)
    assert {job["consumer"] for job in body["jobs"]} == {"billing", "audit"}
    job = body["jobs"][0]
    assert (job["status"], job["attempt"], job["attempts"], job["nextAttemptAt"]) == ("QUEUED", 0, [], None)
    assert job["expiresAt"] > body["receivedAt"]


def test_an_expunged_message_keeps_its_row_and_not_its_payload(api: Client, message: Message) -> None:
    assert api.delete(PATH).status_code == 204

    body = api.get(PATH).json()
    assert body["payload"] == ""
    assert body["expungedAt"].endswith("Z")
    assert [(job["status"], job["reason"]) for job in body["jobs"]] == [("DEAD", "expired")] * 2
    row = Message.objects.get()
    assert bytes(row.payload) == b""
    assert str(row.expunged_by).startswith("api key bk_")


def test_a_second_delete_changes_nothing(api: Client, message: Message) -> None:
    api.delete(PATH)
    before = Message.objects.values().get()

    assert api.delete(PATH).status_code == 204
    assert Message.objects.values().get() == before


def test_what_a_consumer_holds_does_not_keep_a_message_from_being_expunged(api: Client, message: Message) -> None:
    """It may hold it for days, and it has the payload already. What it says of it later is stale."""
    put_in_flight(message)
    DeliveryJob.objects.filter(status=JobStatus.INFLIGHT).update(received_at=Now(), attempt=1)

    assert api.delete(PATH).status_code == 204
    job = DeliveryJob.objects.get(attempt=1)
    assert (job.status_name, job.reason, job.lease_until) == ("DEAD", "expired", None)
    assert [(one.attempt, one.reason) for one in job.attempts.all()] == [(1, "expired")]


def test_a_message_in_flight_is_409_and_stays_whole(api: Client, message: Message) -> None:
    put_in_flight(message)

    refused = problem(api.delete(PATH), 409, "message_in_flight")

    assert "try again" in refused["detail"]
    body = api.get(PATH).json()
    assert (body["payload"], body["expungedAt"]) == ("a secret", None)
    assert [job["status"] for job in body["jobs"]] == ["INFLIGHT", "QUEUED"]


def test_what_was_delivered_stays_delivered(api: Client, message: Message) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE delivery_job SET status = 1003")

    assert api.delete(PATH).status_code == 204
    assert set(DeliveryJob.objects.values_list("status", "reason")) == {(JobStatus.DELIVERED, None)}


def test_a_message_that_waits_for_fan_out_is_sent_to_nobody(api: Client) -> None:
    channel = make_channel()
    make_consumer(channel)
    make_messages(channel, "before", "m", "after")

    assert api.delete(PATH).status_code == 204
    dispatch(channel)

    assert [job.message.message_id for job in DeliveryJob.objects.order_by("pk")] == ["before", "after"]
    assert sorted(Message.objects.values_list("sequence", flat=True)) == [1, 2, 3]  # type: ignore[type-var]
    assert ChannelState.objects.get().last_sequence == 3
    assert list(message_counts(channel).values()) == [0, 3]


@pytest.mark.parametrize("permissions", [[], ["delete_message"]])
def test_staff_expunge_with_the_permission_only(message: Message, permissions: list[str]) -> None:
    answer = log_in(*permissions).delete(PATH)

    assert answer.status_code == (204 if permissions else 403)
    assert Message.objects.get().expunged_by == ("staff" if permissions else None)


def test_a_channel_token_does_not_open_it(stranger: Client, message: Message) -> None:
    problem(stranger.delete(PATH, headers={"X-Broker-Channel-Token": "open"}), 401, "not_authenticated")


def test_it_is_logged_without_the_payload(api: Client, message: Message, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        api.delete(PATH)

    assert "message.expunged" in caplog.text
    assert "a secret" not in caplog.text


def test_a_deleted_channels_messages_can_be_read_and_expunged_with_an_api_key(
    api: Client, stranger: Client, message: Message
) -> None:
    channel = message.channel
    services.delete(channel, condition=Condition(etags=frozenset({channel.etag})))

    assert api.get("/channel/orders/messages").json()["result"] == [PATH]
    assert api.get(PATH).json()["payload"] == "a secret"
    problem(stranger.get(PATH, headers={"X-Broker-Channel-Token": "open"}), 404, "unknown_channel")
    assert api.delete(PATH).status_code == 204
    assert api.get(PATH).json()["payload"] == ""


def test_of_channels_with_the_same_id_the_live_one_is_read_then_the_last(api: Client, message: Message) -> None:
    services.delete(message.channel, condition=Condition(etags=frozenset({message.channel.etag})))
    second = make_channel()
    problem(api.get(PATH), 404, "unknown_message")

    make_messages(second, "m", payload=b"second")
    services.delete(second, condition=Condition(etags=frozenset({second.etag})))

    assert api.get(PATH).json()["payload"] == "second"


def test_the_key_of_a_message_for_later_is_not_a_message(api: Client, message: Message) -> None:
    MessageKey.objects.create(channel_id=message.channel_id, message_id="later", row_id=message.pk, scheduled=True)

    problem(api.get("/channel/orders/message/later"), 404, "unknown_message")


@pytest.mark.parametrize("query", ["", "?status=100", "?status=101", "?status=100&status=101", "?status=ACKNOWLEDGED"])
def test_a_list_by_status_reads_no_more_than_its_page(api: Client, query: str) -> None:
    channel = make_channel()
    make_messages(channel, "newest")
    with connection.cursor() as cursor:
        # Five waiting among a hundred thousand that are not, as when all is well.
        cursor.execute(
            """
            INSERT INTO message
                (channel_id, producer_id, message_id, payload, content_type, priority, headers, status)
            SELECT %s, 0, 'm' || n, 'x', 'text/plain', 0, '{}', CASE WHEN n %% 20000 = 0 THEN 100 ELSE 101 END
            FROM generate_series(1, 100000) n
            """,
            [channel.pk],
        )
        cursor.execute("ANALYZE message")

    with CaptureQueriesContext(connection) as first:
        page = api.get(f"/channel/orders/messages{query}").json()
    with CaptureQueriesContext(connection) as onward:
        if "next" in page["pages"]:
            page = api.get(page["pages"]["next"]).json()
            api.get(page["pages"]["prev"])

    asked = [one["sql"] for queries in (first, onward) for one in queries if 'FROM "message"' in one["sql"]]
    assert len(page["result"]) == (6 if query in ("?status=100", "?status=ACKNOWLEDGED") else 25)
    assert max(map(rows_touched, asked)) <= 28


@pytest.mark.django_db(transaction=True)
def test_a_claim_and_an_expunge_meet_on_the_job_and_one_wins() -> None:
    """The claim came first: the expunge waits for its commit and sees the job in flight."""
    channel = make_channel()
    make_consumer(channel)
    [message] = make_messages(channel, "m")
    dispatch(channel)
    refusals: list[Any] = []

    def expunge() -> None:
        try:
            services.expunge(message=message, by="tests")
        except MessageInFlight as refusal:
            refusals.append(refusal)
        finally:
            connection.close()

    with transaction.atomic():
        put_in_flight(message)
        other = threading.Thread(target=expunge)
        other.start()
        wait_for_a_waiter()
    other.join(timeout=20)

    assert len(refusals) == 1
    assert bytes(Message.objects.get().payload) == b"hello"


@pytest.mark.django_db(transaction=True)
def test_fan_out_passes_over_a_message_that_is_being_expunged() -> None:
    channel = make_channel()
    make_consumer(channel)
    [message] = make_messages(channel, "m")
    with transaction.atomic():
        Message.objects.select_for_update().get(pk=message.pk)
        done: list[int] = []

        def fan() -> None:
            done.append(fan_out(channel.pk).messages)
            connection.close()

        other = threading.Thread(target=fan)
        other.start()
        other.join(timeout=20)
        services.expunge(message=message, by="tests")

    assert done == [0]
    assert fan_out(channel.pk).messages == 0
    assert not DeliveryJob.objects.exists()


def wait_for_a_waiter() -> None:
    """Until another connection waits for a lock of ours."""
    wait_until(somebody_waits, 20)
