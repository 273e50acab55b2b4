"""Jobs that consumers acknowledge, on staff's pages: who has them, since when, and taking them back from the dead."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from channels_app.admin import endless
from channels_app.models import Channel, Consumer, ConsumerState, DeliveryJob, Producer
from tests.channels_app.pull.held import lease
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.channels_app.staff import history, log_in, page, pages
from tests.channels_app.traffic import make_attempt, make_job, make_message

DEVICE_TIME = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def _database(db: None) -> None:
    pass


@pytest.fixture
def producer() -> Producer:
    return make_producer()


@pytest.fixture
def channel() -> Channel:
    return make_channel()


@pytest.fixture
def consumer(channel: Channel) -> Consumer:
    return make_consumer(channel, type="pull")


def make_held(consumer: Consumer, producer: Producer, device_id: str | None = "pump-7", **values: Any) -> DeliveryJob:
    number = DeliveryJob.objects.count()
    message = make_message(consumer.channel, producer, f"m-{number}", status=101, dispatched_at=timezone.now())
    return lease(make_job(message, consumer), device_id=device_id, **values)


def text_of(client: Client, row: Any) -> str:
    answer = client.get(page(row))
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def listed(client: Client, **query: Any) -> list[int]:
    return [row.pk for row in client.get(pages(DeliveryJob), query).context["cl"].result_list]


def release(client: Client, consumer: Consumer, **fields: str) -> Any:
    return client.post(reverse("admin:channels_app_consumer_release_device", args=[consumer.pk]), fields)


def test_a_job_tells_who_has_it_since_when_and_until_when(
    admin_client: Client, consumer: Consumer, producer: Producer
) -> None:
    job = make_held(consumer, producer, started_at=timezone.now(), device_started_at=DEVICE_TIME)
    make_attempt(job, 1, reason="nacked", device_id="pump-6", error="no water")
    DeliveryJob.objects.filter(pk=job.pk).update(attempt=2)

    shown = text_of(admin_client, job)

    told = [
        "Attempt 1, device pump-6: nacked, after 41 ms.",
        "no water",
        "leased",
        "The consumer took it, device pump-7: attempt 2.",
        "started",
        "The consumer has begun. By the device&#x27;s clock: 2026-01-02 03:04:05.678 UTC.",
        "Attempt 2 is under way, to be acknowledged until",
    ]
    places = [shown.index(words, shown.index("Attempts")) for words in told]
    assert places == sorted(places)
    for label in ("Received at", "Started at", "Device id", "Lease until", "Completed", "Acknowledged by"):
        assert label in shown, label
    assert "an acknowledgement within its lease" in shown


def test_a_job_that_was_acknowledged_ends_with_both_clocks(
    admin_client: Client, consumer: Consumer, producer: Producer
) -> None:
    job = make_held(consumer, producer, status=1003, lease_until=None, device_completed_at=DEVICE_TIME)
    make_attempt(job, 1, device_id="pump-7")

    shown = text_of(admin_client, job)

    assert "The consumer took it, device pump-7: attempt 1." in shown
    assert "Attempt 1, device pump-7: acknowledged, after 41 ms." in shown
    assert "The consumer has acknowledged it. By the device&#x27;s clock: 2026-01-02 03:04:05.678 UTC." in shown


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        (
            {"type": "pull", "pull_mode": "index"},
            {"lease_until": None},
            ["Handed out by index", "with no time limit"],
        ),
        ({"ack_mode": "explicit"}, {}, ["The consumer has it and acknowledges later", "to be acknowledged until"]),
        ({"ack_mode": "explicit"}, {"received_at": None}, ["Attempt 1 is under way, leased until"]),
    ],
)
def test_each_way_to_have_a_job_is_told(
    admin_client: Client, producer: Producer, kind: Any, values: Any, words: list[str]
) -> None:
    job = make_held(make_consumer(make_channel(), **kind), producer, None, **values)

    shown = text_of(admin_client, job)

    for each in words:
        assert each in shown


def test_a_job_of_one_that_answers_has_no_fields_for_devices(
    admin_client: Client, channel: Channel, producer: Producer
) -> None:
    job = make_job(make_message(channel, producer), make_consumer(channel))

    shown = text_of(admin_client, job)

    assert "Device id" not in shown
    assert "its answer" in shown


def test_jobs_are_filtered_by_the_whole_name_of_a_device(
    admin_client: Client, consumer: Consumer, producer: Producer
) -> None:
    now = make_held(consumer, producer)
    before = make_held(consumer, producer, status=1003, lease_until=None)
    make_held(consumer, producer, "pump-70")
    make_held(consumer, producer, None)

    assert listed(admin_client, device="pump-7") == [before.pk, now.pk]
    assert listed(admin_client, device="pump-7", status__exact=1002) == [now.pk]
    assert listed(admin_client, device="pump-7", status__exact=1003) == [before.pk]
    assert listed(admin_client, device="pump-7", q=before.message.message_id) == [before.pk]
    assert len(listed(admin_client, device="")) == 4
    for nothing in ("pump", "PUMP-7", " pump-7", "a\x00b", SCRIPT):
        assert listed(admin_client, device=nothing) == []


def test_the_device_has_a_column_where_it_helps(admin_client: Client, consumer: Consumer, producer: Producer) -> None:
    make_held(consumer, producer)
    helps: list[dict[str, Any]] = [
        {"status__exact": 1002},
        {"consumer__id__exact": consumer.pk},
        {"device": "pump-7"},
    ]

    for query in helps:
        assert "device" in admin_client.get(pages(DeliveryJob), query).context["cl"].list_display
    assert "device" not in admin_client.get(pages(DeliveryJob)).context["cl"].list_display


def test_what_a_device_had_is_looked_for_in_reach_and_further_back_on_request(
    admin_client: Client, consumer: Consumer, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endless, "REACH", 3)
    old = make_held(consumer, producer, status=1003, lease_until=None)
    for _ in range(5):
        make_held(consumer, producer, "pump-8", status=1003, lease_until=None)

    for query in ({"device": "pump-7"}, {"device": "pump-7", "status__exact": "1001", "turn": ""}):
        shown = admin_client.get(pages(DeliveryJob), query).context["cl"]
        assert (list(shown.result_list), shown.looked_down_to) == ([], old.pk + 3)
    further = admin_client.get(pages(DeliveryJob), {"device": "pump-7", "p": str(old.pk + 3)}).context["cl"]
    assert list(further.result_list) == [old]
    assert admin_client.get(pages(DeliveryJob), {"device": "", "turn": ""}).context["cl"].looked_down_to is None


def test_what_a_device_has_now_is_found_by_index_however_much_is_done(
    admin_client: Client, consumer: Consumer, producer: Producer
) -> None:
    job = make_held(consumer, producer)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO delivery_job (message_id, channel_id, consumer_id, priority, status, device_id)"
            " SELECT n, %s, %s, 0, 1003, 'pump-7' FROM generate_series(1, 20000) AS n",
            [consumer.channel_id, consumer.pk],
        )
        cursor.execute("ANALYZE delivery_job")
        with CaptureQueriesContext(connection) as captured:
            assert listed(admin_client, device="pump-7", status__exact=1002) == [job.pk]
        for entry in captured:
            if 'FROM "delivery_job"' in entry["sql"]:
                cursor.execute(f"EXPLAIN {entry['sql']}")
                assert "Seq Scan on delivery_job" not in str(cursor.fetchall())


def test_a_consumer_s_page_tells_what_it_has_not_acknowledged_by_device(
    admin_client: Client, consumer: Consumer, producer: Producer
) -> None:
    since = timezone.now() - timedelta(minutes=9)
    for _ in range(2):
        make_held(consumer, producer)
    make_held(consumer, producer, "pump-8", received_at=since, failures=3)
    make_held(consumer, producer, None)

    shown = text_of(admin_client, consumer)

    assert f"Not acknowledged: 4 jobs, the oldest received on {since:%Y-%m-%d %H:%M:%S} UTC (9" in shown
    assert "Retries of these so far: 0.8 a job on average." in shown
    assert "It may have up to 1,000 jobs at once." in shown
    names = [shown.index(words) for words in (">pump-7</a>", "2 jobs", ">pump-8</a>", "No device named")]
    assert names == sorted(names)
    assert f"consumer__id__exact={consumer.pk}&amp;status__exact=1002&amp;device=pump-7" in shown


def test_one_that_polls_tells_its_indexes_and_has_nothing_to_release(
    admin_client: Client, channel: Channel, producer: Producer
) -> None:
    poller = make_consumer(channel, type="pull", pull_mode="index")
    ConsumerState.objects.update(acked_index=3, sent_index=1207)
    type(channel.state).objects.update(last_sequence=2000)
    assert "Nothing waits for its acknowledgement." in text_of(admin_client, poller)
    make_held(poller, producer, None, lease_until=None)

    shown = text_of(admin_client, poller)

    assert "Acknowledged up to index 3, handed out up to 1,207; the last of the channel is 2,000." in shown
    assert "Not acknowledged: 1 job, the oldest" in shown
    assert "release_device" not in shown


def test_one_that_answers_tells_nothing_of_acknowledgements(admin_client: Client, channel: Channel) -> None:
    assert "Acknowledgements" not in text_of(admin_client, make_consumer(channel))


def test_of_many_devices_those_with_the_most_are_shown_and_any_can_be_named(
    admin_client: Client, consumer: Consumer, producer: Producer
) -> None:
    for number in range(21):
        make_held(consumer, producer, f"pump-{number:02}")

    shown = text_of(admin_client, consumer)

    assert ">pump-19</a>" in shown
    assert "pump-20" not in shown
    assert "of 21 in all" in shown
    assert 'id="device" name="device"' in shown
    assert "It has 1 job now." in release(admin_client, consumer, device="pump-20").content.decode()


def test_staff_release_what_a_device_has_after_a_question_that_says_how_much(
    admin_client: Client, consumer: Consumer, producer: Producer
) -> None:
    jobs = [make_held(consumer, producer) for _ in range(2)]
    other = make_held(consumer, producer, "pump-8")

    asked = release(admin_client, consumer, device="pump-7")
    assert "It has 2 jobs now." in asked.content.decode()
    assert DeliveryJob.objects.filter(status=1002).count() == 3
    done = release(admin_client, consumer, **{k: v[0] for k, v in asked.context["question"].fields.items()})

    assert done["Location"] == page(consumer)
    assert list(DeliveryJob.objects.filter(status=1001, failures=0).order_by("pk")) == jobs
    assert DeliveryJob.objects.get(status=1002) == other
    assert history(consumer) == ["Released 2 jobs of device pump-7"]
    assert "Given back, which counts no failure." in text_of(admin_client, jobs[0])
    again = admin_client.post(done.request["PATH_INFO"], {"device": "pump-7", "confirmed": "yes"}, follow=True)
    assert "Device pump-7 has no job of this consumer: nothing was done." in again.content.decode()
    assert len(history(consumer)) == 1


@pytest.mark.parametrize("device", ["", "nobody", "a\x00b", "x" * 300])
def test_a_device_that_has_nothing_is_not_released(
    admin_client: Client, consumer: Consumer, producer: Producer, device: str
) -> None:
    make_held(consumer, producer)

    assert release(admin_client, consumer, device=device, confirmed="yes").status_code == 302

    assert DeliveryJob.objects.filter(status=1002).count() == 1
    assert history(consumer) == []


def test_who_may_only_look_releases_nothing(consumer: Consumer, producer: Producer) -> None:
    make_held(consumer, producer)
    client = log_in("view_consumer")

    assert release(client, consumer, device="pump-7", confirmed="yes").status_code == 403

    assert DeliveryJob.objects.filter(status=1002).count() == 1
    shown = text_of(client, consumer)
    assert "pump-7" in shown
    assert "release_device" not in shown
    assert pages(DeliveryJob) not in shown


def test_a_link_releases_nothing_and_neither_does_a_stranger(
    admin_client: Client, consumer: Consumer, producer: Producer
) -> None:
    make_held(consumer, producer)
    address = reverse("admin:channels_app_consumer_release_device", args=[consumer.pk])

    assert admin_client.get(address, {"device": "pump-7", "confirmed": "yes"}).status_code == 405
    assert "login" in Client().post(address, {"device": "pump-7", "confirmed": "yes"})["Location"]
    assert DeliveryJob.objects.filter(status=1002).count() == 1


def test_no_name_of_a_device_runs(admin_client: Client, consumer: Consumer, producer: Producer) -> None:
    job = make_held(consumer, producer, SCRIPT)
    for row in (job, job.message, consumer):
        assert SCRIPT not in text_of(admin_client, row)
    for answer in (
        release(admin_client, consumer, device=SCRIPT),
        admin_client.get(pages(DeliveryJob), {"device": SCRIPT}),
    ):
        assert SCRIPT not in answer.content.decode()
