"""A message's whole life on one page: everything that happened, in order, for eyes and for ears; nothing secret."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import ADDITION, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from channels_app.models import Channel, Consumer, DeliveryJob, Message, MessageKey, Producer
from dlq_app.models import DeadLetterAct
from scheduling_app.models import ScheduledMessage
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.channels_app.staff import log_in, page
from tests.channels_app.traffic import make_attempt, make_job, make_message
from watch_app.explorer.curl import MOST_IN_COMMAND

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def _database(db: None) -> None:
    pass


@pytest.fixture
def channel() -> Channel:
    return make_channel()


@pytest.fixture
def producer() -> Producer:
    return make_producer()


@pytest.fixture
def consumer(channel: Channel) -> Consumer:
    return make_consumer(channel, callback_url="http://127.0.0.1:9/hook/s3cret-path?key=s3cret-key")


@pytest.fixture
def message(channel: Channel, producer: Producer) -> Message:
    now = timezone.now() - timedelta(minutes=5)
    headers = {"X-Kept": "caf\xc3\xa9"}
    return make_message(
        channel, producer, "order-7", status=101, received_at=now, dispatched_at=now, priority=3, headers=headers
    )


def life(client: Client, channel: str = "orders", message_id: str = "order-7", **asked: str) -> Any:
    return client.get(reverse("admin:watch_explorer_life", args=[channel, message_id]), asked)


def text_of(client: Client, **asked: str) -> str:
    answer = life(client, **asked)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def tried(job: DeliveryJob, attempt: int, after: float, **values: Any) -> None:
    at = job.message.received_at + timedelta(seconds=after)
    make_attempt(job, attempt, finished_at=at, **values)


def test_tries_waits_and_the_end_are_told_in_order(
    admin_client: Client, channel: Channel, message: Message, consumer: Consumer
) -> None:
    done = message.received_at + timedelta(seconds=3)
    job = make_job(message, consumer, status=1003, attempt=2, failures=1, status_changed_at=done)
    tried(job, 1, 1.0, status_code=503, reason="http_5xx", answer="try later", duration_ms=500)
    tried(job, 2, 3.0, status_code=200, answer="thanks", duration_ms=250)
    shown = text_of(admin_client)
    told = [
        "Stored, from producer shop.",
        "Its jobs were made.",
        "Attempt 1: HTTP 503",
        "try later",
        "Attempt 2: HTTP 200",
    ]
    told += ["Waited 1.8 s since the try before.", "thanks", "The consumer has it."]
    places = [shown.index(words, shown.index("What happened")) for words in told]
    assert places == sorted(places)
    assert "Nothing more will happen by itself." in shown
    assert "data-life-open" not in shown
    assert page(job) in shown


def test_an_id_stands_on_its_page_as_it_is(admin_client: Client, message: Message) -> None:
    shown = text_of(admin_client)
    assert "Message order-7" in shown
    assert "Order-7" not in shown


def test_an_end_is_not_before_the_try_that_led_to_it(
    admin_client: Client, message: Message, consumer: Consumer
) -> None:
    begun = message.received_at + timedelta(seconds=0.998)
    job = make_job(message, consumer, status=1003, attempt=1, status_changed_at=begun)
    tried(job, 1, 1.0, status_code=200, duration_ms=8)
    told = [
        (moment.word, moment.later)
        for moment in life(admin_client).context["life"].lanes[0].moments
        if moment.word != "added"
    ]
    assert told == [("ok", "+1.000 s"), ("delivered", "+1.000 s")]


def test_the_picture_has_a_lane_for_each_consumer_and_a_bar_for_each_try(
    admin_client: Client, channel: Channel, message: Message, consumer: Consumer
) -> None:
    other = make_consumer(channel, "a-consumer-whose-name-is-longer-than-its-lane")
    job = make_job(message, consumer, attempt=2, failures=2, next_attempt_at=timezone.now() + timedelta(hours=1))
    tried(job, 1, 1.0, reason="timeout", duration_ms=500)
    tried(job, 2, 3.0, reason="timeout", duration_ms=500)
    make_job(message, other, status=1002, attempt=1, lease_until=timezone.now())
    answer = life(admin_client)
    rows = answer.context["picture"].rows
    assert [row.whole_title for row in rows] == ["message", "billing", other.public_id]
    assert [[bar.tone for bar in row.bars] for row in rows] == [[], ["wait", "danger", "danger"], ["now"]]
    bars = rows[1].bars[1:]
    assert bars[0].x + bars[0].width < bars[1].x
    assert rows[1].marks[-1].x > bars[1].x
    shown = answer.content.decode()
    assert "data-life-open" in shown
    wide, narrow = shown.split('class="life life-narrow"')
    assert wide.count('<rect class="life-bar') == narrow.count('<rect class="life-bar') == 4
    # However little room there is, both say how long it took in all.
    ends = [re.findall(r'class="life-word"[^>]*>([^<]+)<', drawing)[-1] for drawing in (wide, narrow)]
    assert ends[0] == ends[1]


def test_the_request_of_a_try_is_shown_as_it_was_sent_without_its_secrets(message: Message, consumer: Consumer) -> None:
    tried(make_job(message, consumer, status=1003, attempt=1, priority=3), 1, 1.0, status_code=200)
    secrets = (consumer.token, consumer.signing_secret, message.channel.token, message.producer.token)
    modest = text_of(log_in("view_message"))
    assert "POST http://127.0.0.1:9/… (as it is set now), 2 bytes of body" in modest
    for words in ("s3cret-path", "s3cret-key", *secrets):
        assert words not in modest
    names = ["X-Kept", "X-Broker-Consumer-Token", "webhook-id", "webhook-timestamp", "webhook-signature"]
    names += ["X-Broker-Message-ID", "X-Broker-Message-Priority", "X-Broker-Attempt", "X-Broker-Metadata-Headers"]
    for name in names:
        assert f"<dt>{name}</dt>" in modest, name
    assert "<dt>webhook-signature</dt><dd>(not shown)</dd>" in modest
    assert "<dt>X-Kept</dt><dd>café</dd>" in modest
    assert "$CALLBACK_URL" in modest


def test_who_may_reveal_tokens_sees_the_whole_callback_url(message: Message, consumer: Consumer) -> None:
    tried(make_job(message, consumer, status=1003, attempt=1), 1, 1.0, status_code=200)
    shown = text_of(log_in("view_message", "reveal_token"))
    assert "POST http://127.0.0.1:9/hook/s3cret-path?key=s3cret-key" in shown
    assert consumer.token not in shown


def test_a_pull_consumer_has_acks_and_no_requests(admin_client: Client, channel: Channel, message: Message) -> None:
    puller = make_consumer(channel, "puller", type="pull", callback_url="")
    at = message.received_at + timedelta(seconds=1)
    held = {"received_at": at, "started_at": at + timedelta(seconds=1), "device_id": "till-3"}
    job = make_job(message, puller, status=1003, attempt=1, status_changed_at=at + timedelta(seconds=2), **held)
    tried(job, 1, 3.0, duration_ms=2000, device_id="till-3")
    shown = text_of(admin_client)
    told = ["The consumer took it, device till-3", "The consumer has begun.", "Attempt 1, device till-3: acknowledged"]
    for words in told:
        assert words in shown
    assert "The request" not in shown


def dead_and_requeued(message: Message, consumer: Consumer) -> DeliveryJob:
    at = message.received_at
    made, died = {"created_at": at}, {"status_changed_at": at + timedelta(seconds=9)}
    job = make_job(message, consumer, status=1004, reason="http_5xx", attempt=2, failures=1, **made, **died)
    tried(job, 1, 1.0, reason="http_5xx")
    tried(job, 2, 9.0, reason="http_5xx")
    acts = [("entered", 1, "", 1), ("requeued", 1, "olga", 5), ("entered", 2, "", 9), ("discarded", 2, "olga", 20)]
    DeadLetterAct.objects.all().delete()
    for act, attempt, by, after in acts:
        note = f"note of {act}" if by else ""
        seconds = timedelta(seconds=after)
        DeadLetterAct.objects.create(
            job=job, act=act, attempt=attempt, by=by, note=note, reason="http_5xx", at=at + seconds
        )
    return job


def test_what_was_done_about_its_letters_is_part_of_its_life(
    admin_client: Client, message: Message, consumer: Consumer
) -> None:
    dead_and_requeued(message, consumer)
    moments = [moment.word for moment in life(admin_client).context["life"].lanes[0].moments]
    assert moments == ["failed", "entered", "requeued", "failed", "dead", "discarded"]
    shown = text_of(admin_client)
    assert "By olga." in shown
    assert "note of discarded" in shown


def test_who_may_not_see_letters_sees_none_of_their_acts(message: Message, consumer: Consumer) -> None:
    dead_and_requeued(message, consumer)
    assert "olga" not in text_of(log_in("view_message"))


def test_a_replay_and_a_job_that_was_made_later_are_told(
    admin_client: Client, channel: Channel, message: Message, consumer: Consumer
) -> None:
    job = make_job(message, consumer, status=1003, attempt=2)
    tried(job, 1, 1.0, status_code=200)
    tried(job, 2, 60.0, status_code=200)
    shown = text_of(admin_client)
    assert "Its job was made later" in shown
    assert "Sent again, though it had been delivered." in shown


def make_scheduled(channel: Channel, producer: Producer, **values: Any) -> ScheduledMessage:
    at = timezone.now() + timedelta(hours=1)
    given = {"payload": b"{}", "content_type": "text/plain", "scheduled_for": at, "due_at": at, **values}
    row = ScheduledMessage.objects.create(channel=channel, producer=producer, message_id="order-7", **given)
    MessageKey.objects.create(channel_id=channel.pk, message_id="order-7", row_id=row.pk, scheduled=True)
    return row


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "Waits for its time"),
        ({"status": 102}, "It will not be sent: somebody cancelled it."),
        ({"status": 103, "reason": "channel_gone"}, "It could not be sent: its channel was deleted."),
    ],
)
def test_a_message_for_later_has_a_life_too(
    admin_client: Client, channel: Channel, producer: Producer, values: Any, words: str
) -> None:
    row = make_scheduled(channel, producer, **values)
    shown = text_of(admin_client)
    assert words in shown
    assert ("data-life-open" in shown) is (not values)
    assert page(row) in shown
    assert "curl -i -X POST" in shown


def test_a_message_for_later_is_for_those_who_may_see_such(channel: Channel, producer: Producer) -> None:
    make_scheduled(channel, producer)
    modest = log_in("view_message")
    file = reverse("admin:watch_explorer_payload", args=["orders", "order-7"])
    assert life(modest).status_code == life(modest, part="life").status_code == modest.get(file).status_code == 403
    User.objects.all().delete()
    assert life(log_in("view_message", "view_scheduledmessage")).status_code == 200


@pytest.mark.parametrize(("scheduled", "seen"), [(True, 403), (False, 410)])
def test_what_is_known_of_a_pruned_one_for_later_is_for_those_who_may_see_such(
    channel: Channel, scheduled: bool, seen: int
) -> None:
    known = {"message_id": "order-7", "row_id": 7, "scheduled": scheduled, "pruned_at": timezone.now()}
    MessageKey.objects.create(channel_id=channel.pk, **known)
    modest = log_in("view_message")
    file = reverse("admin:watch_explorer_payload", args=["orders", "order-7"])
    assert (life(modest).status_code, life(modest, part="life").status_code) == (seen, seen)
    assert modest.get(file).status_code == (403 if scheduled else 404)
    User.objects.all().delete()
    assert life(log_in("view_message", "view_scheduledmessage")).status_code == 410


def test_what_staff_changed_is_told_and_by_whom(admin_client: Client, channel: Channel, producer: Producer) -> None:
    row = make_scheduled(channel, producer)
    LogEntry.objects.create(
        user=User.objects.get(),
        content_type=ContentType.objects.get_for_model(ScheduledMessage),
        object_id=str(row.pk),
        object_repr="order-7",
        action_flag=ADDITION,
        change_message="Rescheduled",
    )
    assert "Rescheduled (by admin)." in text_of(admin_client)


def test_a_message_that_was_for_later_tells_when_it_was_asked_for(
    admin_client: Client, message: Message, channel: Channel, producer: Producer
) -> None:
    at = message.received_at
    times = {"scheduled_for": at, "due_at": at, "dispatched_at": at, "created_at": at - timedelta(days=2)}
    ScheduledMessage.objects.create(
        channel=channel, producer=producer, message_id="order-7", payload=b"{}", content_type="a/b", status=101, **times
    )
    answer = life(admin_client)
    assert [moment.word for moment in answer.context["life"].beginning.moments] == [
        "scheduled",
        "accepted",
        "dispatched",
    ]


def test_nothing_that_came_from_outside_runs(
    admin_client: Client, channel: Channel, producer: Producer, consumer: Consumer
) -> None:
    evil = make_message(
        channel,
        producer,
        "evil",
        payload=SCRIPT.encode(),
        content_type=SCRIPT,
        headers={SCRIPT: SCRIPT},
        status=101,
        dispatched_at=timezone.now(),
    )
    job = make_job(evil, consumer, status=1004, reason="http_5xx", attempt=1, device_id=SCRIPT)
    make_attempt(job, 1, reason="http_5xx", error=SCRIPT, answer=SCRIPT, device_id=SCRIPT)
    answer = life(admin_client, message_id="evil")
    assert answer.status_code == 200
    assert SCRIPT not in answer.content.decode()
    assert "&lt;script&gt;" in answer.content.decode()


@pytest.mark.parametrize(
    ("channel_id", "message_id"), [("orders", "no-such"), ("nobody", "m-1"), ("%00", "x"), ("é", "<b>")]
)
def test_what_is_not_there_is_not_found(
    admin_client: Client, channel: Channel, channel_id: str, message_id: str
) -> None:
    assert life(admin_client, channel_id, message_id).status_code == 404
    assert admin_client.post(reverse("admin:watch_explorer_life", args=[channel_id, message_id])).status_code == 405


def test_a_payload_that_is_no_text_is_shown_as_such_and_can_be_downloaded(
    admin_client: Client, channel: Channel, producer: Producer
) -> None:
    payload = bytes(range(256)) * 1000
    make_message(channel, producer, "order-7", payload=payload)
    shown = text_of(admin_client)
    assert "Binary, 256,000 bytes. Only the first 65,536 are shown." in shown
    assert "--data-binary @order-7.payload" in shown
    assert len(payload) > MOST_IN_COMMAND
    file = admin_client.get(reverse("admin:watch_explorer_payload", args=["orders", "order-7"]))
    assert file.content == payload
    assert file["Content-Disposition"] == 'attachment; filename="order-7.payload"'
    assert file["X-Content-Type-Options"] == "nosniff"


def test_an_expunged_message_keeps_its_life_and_gives_nothing_away(
    admin_client: Client, channel: Channel, producer: Producer
) -> None:
    make_message(channel, producer, "order-7", payload=b"", expunged_at=timezone.now(), expunged_by="key ops")
    shown = text_of(admin_client)
    assert "Payload removed by key ops." in shown
    assert "curl" not in shown


def test_a_part_of_the_page_is_enough_to_look_again(admin_client: Client, message: Message) -> None:
    shown = text_of(admin_client, part="life")
    assert "What happened" in shown
    assert "<html" not in shown


def test_a_life_is_found_in_a_channel_that_was_deleted_and_made_again(
    admin_client: Client, message: Message, channel: Channel
) -> None:
    Channel.objects.filter(pk=channel.pk).update(deleted_at=timezone.now())
    make_channel("orders")
    assert "Stored, from producer shop." in text_of(admin_client)


def test_the_pages_of_messages_and_jobs_lead_to_the_life(
    admin_client: Client, message: Message, consumer: Consumer
) -> None:
    address = reverse("admin:watch_explorer_life", args=["orders", "order-7"])
    for row in (message, make_job(message, consumer)):
        assert address in admin_client.get(page(row)).content.decode()


def test_a_life_costs_the_same_queries_for_one_consumer_as_for_thirty(
    admin_client: Client, channel: Channel, message: Message, consumer: Consumer
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert life(admin_client).status_code == 200
        return len(captured)

    dead_and_requeued(message, consumer)
    queries()
    one = queries()
    for number in range(30):
        job = make_job(message, make_consumer(channel, f"c-{number}"), status=1003, attempt=3)
        for attempt in range(1, 4):
            tried(job, attempt, attempt, status_code=200)
    assert queries() == one < 20
