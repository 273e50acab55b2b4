"""Dead letters over HTTP: who may see and do what, and what comes of it."""

import json
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from channels_app import counts
from channels_app.models import Consumer, DeliveryJob, JobStatus, Producer
from channels_app.services import expunge
from dlq_app.api import export
from dlq_app.models import DeadLetter, DeadLetterAct
from scheduling_app.dispatch import Lane, dispatch_batch
from tests.channels_app.delivery.rows import make_job
from tests.channels_app.registry import make_channel, make_consumer, problem
from tests.channels_app.staff import log_in
from tests.dlq_app.letters import die, make_dead
from tests.scheduling_app.later import make_scheduled

pytestmark = pytest.mark.django_db

QUEUE = "/channel/orders/consumer/billing/dlq"
JOB = "/channel/orders/consumer/billing/job"
FORM = "application/x-www-form-urlencoded"


def post(client: Client, path: str, body: Any = None) -> Any:
    return client.post(path, json.dumps(body or {}), content_type="application/json")


def jobs_at(client: Client, path: str) -> list[str]:
    return [letter["jobId"] for letter in client.get(path).json()["result"]]


def test_a_dead_job_is_listed_as_clients_know_it(api: Client, consumer: Consumer, producer: Producer) -> None:
    letter = make_dead(consumer, producer, answer="out of order")

    [job] = api.get(QUEUE).json()["deadJobs"]

    changed_at = job.pop("statusChangedAt")
    assert changed_at.endswith("Z")
    assert job == {
        "id": str(letter.job_id),
        "listenerEndpoint": "http://127.0.0.1:9/",
        "listenerName": "billing",
        "status": "DEAD",
        "messageUrl": "/channel/orders/message/m0",
        "jobRequeueUrl": f"{JOB}/{letter.job_id}/requeue-dead-job",
        "failureReason": "http_5xx",
        "attempts": 1,
        "lastError": "HTTP 503: out of order",
    }


def test_the_whole_callback_url_is_for_those_who_may_see_secrets(producer: Producer) -> None:
    consumer = make_consumer(make_channel(), callback_url="https://example.com/hook?key=SECRET")
    addresses = (f"/dead-letters/{make_dead(consumer, producer).job_id}", QUEUE)
    staff = log_in("view_deadletter")
    for address in addresses:
        text = staff.get(address).content.decode()
        assert "SECRET" not in text
        assert "https://example.com/" in text
    User.objects.get().user_permissions.add(Permission.objects.get(codename="reveal_token"))
    assert all("SECRET" in staff.get(address).content.decode() for address in addresses)


def test_dead_jobs_come_in_pages_the_last_to_die_first(api: Client, consumer: Consumer, producer: Producer) -> None:
    letters = [str(make_dead(consumer, producer).job_id) for _ in range(3)]

    first = api.get(f"{QUEUE}?limit=2").json()
    second = api.get(first["pages"]["next"]).json()

    assert [job["id"] for page in (first, second) for job in page["deadJobs"]] == letters[::-1]
    assert "next" not in second["pages"]
    problem(api.get(f"{QUEUE}?page=nonsense"), 400, "bad_cursor")


def test_the_consumers_own_token_opens_its_dead_jobs_and_the_channels_does_not(
    stranger: Client, consumer: Consumer
) -> None:
    assert stranger.get(QUEUE, headers={"X-Broker-Consumer-Token": "mine"}).status_code == 200
    problem(stranger.get(QUEUE, headers={"X-Broker-Consumer-Token": "guessed"}), 403, "wrong_token")
    problem(stranger.get(QUEUE, headers={"X-Broker-Channel-Token": consumer.channel.token}), 401, "not_authenticated")
    problem(stranger.get(QUEUE), 401, "not_authenticated")


@pytest.mark.parametrize("address", ["/channel/none/consumer/billing/dlq", "/channel/orders/consumer/none/dlq"])
def test_what_nobody_knows_is_404(api: Client, consumer: Consumer, address: str) -> None:
    assert {api.get(address).status_code, post(api, address).status_code, api.delete(address).status_code} == {404}


def test_a_consumer_queues_all_its_dead_jobs_again_with_its_token(
    stranger: Client, consumer: Consumer, producer: Producer
) -> None:
    make_dead(consumer, producer)
    make_dead(consumer, producer)

    answer = stranger.post(QUEUE, "Requeue=mine", content_type=FORM)

    assert answer.status_code == 202, answer.content
    assert answer.json() == {"requeuedCount": 2, "leftCount": 0, "isComplete": True, "operationUrl": None}
    assert set(DeliveryJob.objects.values_list("status", flat=True)) == {JobStatus.QUEUED}
    assert DeadLetterAct.objects.filter(act="requeued", by="consumer billing of orders").count() == 2
    assert not counts.check().total


@pytest.mark.parametrize("body", ["requeue=guessed", "requeue=", "requeue=m%C3%BCll", "other=mine", ""])
def test_without_the_right_token_nothing_is_queued_again(
    stranger: Client, consumer: Consumer, producer: Producer, body: str
) -> None:
    make_dead(consumer, producer)

    assert stranger.post(QUEUE, body, content_type=FORM).status_code in (401, 403)
    assert stranger.post(QUEUE, '{"requeue": "\\ud800"}', content_type="application/json").status_code == 403
    assert DeadLetter.objects.open().count() == 1


def test_a_manager_queues_again_without_a_token_and_with_a_note(
    api: Client, consumer: Consumer, producer: Producer
) -> None:
    make_dead(consumer, producer)

    assert post(api, QUEUE, {"note": "mended"}).json()["requeuedCount"] == 1
    act = DeadLetterAct.objects.get(act="requeued")
    assert act.by.startswith("api key ")
    assert act.note == "mended"
    problem(post(api, QUEUE, {"notes": "x"}), 400, "invalid")


def test_one_dead_job_is_queued_again(api: Client, consumer: Consumer, producer: Producer) -> None:
    letter = make_dead(consumer, producer)

    answer = post(api, f"{JOB}/{letter.job_id}/requeue-dead-job")

    assert (answer.status_code, answer.json()["status"]) == (202, "QUEUED")
    problem(post(api, f"{JOB}/{letter.job_id}/requeue-dead-job"), 409, "not_dead")
    problem(post(api, f"{JOB}/12345678/requeue-dead-job"), 404, "unknown_job")


def test_a_job_that_cannot_be_sent_any_more_says_why(api: Client, consumer: Consumer, producer: Producer) -> None:
    expunged, often = make_dead(consumer, producer), make_dead(consumer, producer)
    expunge(message=expunged.message, by="anna")
    DeadLetter.objects.filter(pk=often.pk).update(times=11)
    forgetful = make_consumer(make_channel("forgetful", dead_letters="drop"))
    dropped = make_job(forgetful, producer, attempt=1)
    die(dropped)

    problem(post(api, f"{JOB}/{expunged.job_id}/requeue-dead-job"), 409, "message_expunged")
    problem(post(api, f"{JOB}/{often.job_id}/requeue-dead-job"), 409, "requeued_too_often")
    address = f"/channel/forgetful/consumer/billing/job/{dropped.pk}/requeue-dead-job"
    problem(post(api, address), 409, "letter_not_kept")


def test_a_pull_consumers_job_is_queued_again_too(api: Client, consumer: Consumer, producer: Producer) -> None:
    letter = make_dead(make_consumer(consumer.channel, "puller", type="pull"), producer)

    answer = post(api, f"/channel/orders/consumer/puller/job/{letter.job_id}/requeue-dead-job")

    assert (answer.status_code, answer.json()["status"]) == (202, "QUEUED")


def test_all_dead_jobs_of_a_consumer_are_deleted(api: Client, consumer: Consumer, producer: Producer) -> None:
    for _ in range(3):
        make_dead(consumer, producer)

    answer = api.delete(QUEUE)

    assert (answer.status_code, answer.json()["deletedCount"]) == (200, 3)
    assert api.get(QUEUE).json() == {"deadJobs": [], "pages": {}}
    assert api.get("/dlq-status").json() == {"counts": {}}
    assert not counts.check().total


def test_one_dead_job_is_deleted_and_can_still_be_read(api: Client, consumer: Consumer, producer: Producer) -> None:
    letter, alive = make_dead(consumer, producer), make_job(consumer, producer)

    assert api.delete(f"{JOB}/{letter.job_id}").status_code == 204
    problem(api.delete(f"{JOB}/{letter.job_id}"), 409, "already_resolved")
    problem(api.delete(f"{JOB}/{alive.pk}"), 409, "not_dead")
    assert api.get(f"{JOB}/{letter.job_id}").json()["status"] == "DEAD"
    assert api.put(f"{JOB}/{letter.job_id}")["Allow"] == "GET, DELETE, HEAD, OPTIONS, POST"


def test_the_tokens_that_open_a_job_delete_nothing(stranger: Client, consumer: Consumer, producer: Producer) -> None:
    letter = make_dead(consumer, producer)
    tokens = {"X-Broker-Channel-Token": consumer.channel.token, "X-Broker-Consumer-Token": "mine"}

    assert stranger.get(f"{JOB}/{letter.job_id}", headers=tokens).status_code == 200
    assert stranger.delete(f"{JOB}/{letter.job_id}", headers=tokens).status_code == 401
    assert stranger.delete(QUEUE, headers=tokens).status_code == 401


@pytest.mark.parametrize(
    ("permission", "allowed"),
    [
        ("view_channel", set()),
        ("view_deadletter", {"view"}),
        ("act_on_deadletter", {"act"}),
        ("clear_deadletter", {"clear"}),
    ],
)
def test_staff_see_act_and_clear_by_their_permissions(
    consumer: Consumer, producer: Producer, permission: str, allowed: set[str]
) -> None:
    letter = make_dead(consumer, producer)
    client = log_in(permission)

    one = f"/dead-letters/{letter.job_id}"
    tried = {
        "view": [client.get(path) for path in (QUEUE, "/dead-letters", "/dead-letters/causes", one)],
        "act": [
            post(client, f"{one}/edit"),
            post(client, "/dead-letters/requeue"),
            post(client, "/dead-letters/discard"),
            post(client, f"{JOB}/{letter.job_id}/requeue-dead-job"),
            post(client, QUEUE),
            client.delete(f"{JOB}/{letter.job_id}"),
        ],
        "clear": [client.delete(QUEUE)],
    }

    for act, answers in tried.items():
        refused = {answer.status_code == 403 for answer in answers}
        assert refused == {act not in allowed}, act


def test_letters_are_found_by_what_is_known_of_them(api: Client, consumer: Consumer, producer: Producer) -> None:
    dns = make_dead(make_consumer(make_channel("stock"), "shelf"), producer, reason="dns", error="not-there.example:80")
    timeout = make_dead(consumer, producer, reason="timeout", error="Timeout after 30 s: gateway")
    an_hour_ago = timezone.now() - timedelta(hours=1)
    DeadLetter.objects.filter(pk=dns.pk).update(entered_at=an_hour_ago)
    fingerprint = api.get(f"/dead-letters/{dns.job_id}").json()["fingerprint"]
    half = quote((timezone.now() - timedelta(minutes=30)).isoformat())
    found = {
        "": [timeout, dns],
        "channel=orders": [timeout],
        "channel=stock&consumer=shelf": [dns],
        "reason=dns": [dns],
        f"fingerprint={fingerprint}": [dns],
        "q=GATEWAY+timeout": [timeout],
        "q=there": [dns],
        "q=not-there.example": [dns],
        "q=elsewhere.example": [],
        f"from={half}": [timeout],
        f"to={half}": [dns],
        "olderThan=1800": [dns],
        "channel=orders&reason=dns": [],
    }

    for query, letters in found.items():
        assert jobs_at(api, f"/dead-letters?{query}") == [str(letter.job_id) for letter in letters], query


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("channel=none", 404, "unknown_channel"),
        ("channel=orders&consumer=none", 404, "unknown_consumer"),
        ("consumer=billing", 400, "channel_missing"),
        ("reason=bad-luck", 400, "invalid_filter"),
        ("fingerprint=xyz", 400, "invalid_filter"),
        ("q=%00", 400, "invalid_filter"),
        ("to=", 400, "invalid_field"),
        ("from=yesterday", 400, "invalid_field"),
        ("to=2026-01-01T00:00:00", 400, "invalid_field"),
        ("olderThan=-1", 400, "invalid_filter"),
        ("olderThan=99999999999", 400, "invalid_filter"),
    ],
)
def test_a_filter_that_means_nothing_is_refused(
    api: Client, consumer: Consumer, query: str, status: int, code: str
) -> None:
    for path in ("/dead-letters", "/dead-letters/causes", "/dead-letters/export"):
        problem(api.get(f"{path}?{query}"), status, code)


def test_a_page_of_letters_costs_the_same_however_many_there_are(
    api: Client, consumer: Consumer, producer: Producer, django_assert_max_num_queries: Any
) -> None:
    for _ in range(5):
        make_dead(consumer, producer)
    api.get("/dead-letters")

    with django_assert_max_num_queries(4):
        assert len(jobs_at(api, "/dead-letters")) == 5


def test_one_letter_tells_its_whole_story(api: Client, consumer: Consumer, producer: Producer) -> None:
    letter = make_dead(consumer, producer, answer="<script>alert(1)</script>")
    post(api, f"{JOB}/{letter.job_id}/requeue-dead-job", {"note": "again"})
    DeliveryJob.objects.update(attempt=2)
    die(DeliveryJob.objects.get(), reason="timeout", status_code=None, error="Timeout after 30 s")

    story = api.get(f"/dead-letters/{letter.job_id}").json()

    assert (story["channel"], story["consumer"], story["jobStatus"]) == ("orders", "billing", "DEAD")
    assert (story["reason"], story["error"], story["attempts"], story["times"]) == (
        "timeout",
        "Timeout after 30 s",
        2,
        2,
    )
    assert "timeoutSeconds" in story["advice"]
    assert (story["resolution"], story["resolvedBy"], story["editedMessageUrl"]) == (None, None, None)
    message = story["message"]
    assert (message["messageId"], message["payload"], message["producer"]) == ("m0", "x", "shop")
    assert [(one["attempt"], one["statusCode"], one["answer"]) for one in story["tries"]] == [
        (1, 503, "<script>alert(1)</script>"),
        (2, None, ""),
    ]
    assert [(act["act"], act["note"]) for act in story["history"]] == [
        ("entered", ""),
        ("requeued", "again"),
        ("entered", ""),
    ]


def test_a_letter_tells_which_message_for_later_it_was(api: Client, consumer: Consumer, producer: Producer) -> None:
    later = make_scheduled(consumer.channel, producer, "later", scheduled_for=timezone.now() - timedelta(minutes=1))
    dispatch_batch(Lane(consumer.channel_id, later.partition))
    job = DeliveryJob.objects.get()
    die(job)
    now = make_dead(consumer, producer)

    origin = api.get(f"/dead-letters/{job.pk}").json()["scheduled"]

    assert (origin["id"], origin["scheduledMessageUrl"]) == (str(later.pk), "/channel/orders/scheduled-message/later")
    assert api.get(origin["scheduledMessageUrl"]).json()["dispatchSchedule"] == origin["scheduledFor"]
    assert api.get(f"/dead-letters/{now.job_id}").json()["scheduled"] is None


@pytest.mark.parametrize("job_id", ["0", "none", "99999999999999999999", "12345678"])
def test_a_letter_that_is_not_there_is_404(api: Client, db: None, job_id: str) -> None:
    problem(api.get(f"/dead-letters/{job_id}"), 404, "unknown_letter")
    problem(post(api, f"/dead-letters/{job_id}/edit", {"payload": "x"}), 404, "unknown_letter")


def test_causes_say_what_most_letters_died_of(api: Client, consumer: Consumer, producer: Producer) -> None:
    make_dead(consumer, producer, reason="dns", error="Name not known")
    for number in range(2):
        make_dead(consumer, producer, reason="timeout", error=f"Timeout after {number} s")

    found = api.get("/dead-letters/causes?channel=orders&consumer=billing").json()

    first = found["result"][0]
    assert (first["reason"], first["count"], first["error"]) == ("timeout", 2, "Timeout after 1 s")
    assert (found["lookedAt"], found["isComplete"]) == (3, True)
    assert len(jobs_at(api, f"/dead-letters?fingerprint={first['fingerprint']}")) == 2


def test_chosen_letters_are_queued_again_and_discarded(api: Client, consumer: Consumer, producer: Producer) -> None:
    first, second, third = (str(make_dead(consumer, producer).job_id) for _ in range(3))

    requeued = post(api, "/dead-letters/requeue", {"jobIds": [first, "12345678"], "note": "mended"})
    discarded = post(api, "/dead-letters/discard", {"jobIds": [first, second], "note": "old"})

    assert (requeued.status_code, requeued.json()["requeuedCount"], requeued.json()["leftCount"]) == (202, 1, 1)
    assert (discarded.status_code, discarded.json()) == (200, {"discardedCount": 1, "leftCount": 1})
    assert jobs_at(api, "/dead-letters") == [third]
    assert not counts.check().total


@pytest.mark.parametrize(
    "body",
    [{}, {"jobIds": []}, {"jobIds": ["x"]}, {"jobIds": [1]}, {"jobIds": ["1"] * 1001}, {"jobIds": ["1"], "note": 5}],
)
@pytest.mark.parametrize("act", ["requeue", "discard"])
def test_a_bad_choice_changes_nothing(
    api: Client, consumer: Consumer, producer: Producer, act: str, body: dict[str, Any]
) -> None:
    make_dead(consumer, producer)

    problem(post(api, f"/dead-letters/{act}", body), 400, "invalid")
    assert DeadLetter.objects.open().count() == 1


def lines(client: Client, path: str) -> list[dict[str, Any]]:
    answer: Any = client.get(path)
    assert answer["Content-Type"] == "application/x-ndjson"
    return [json.loads(line) for line in b"".join(answer.streaming_content).splitlines()]


def test_letters_are_exported_a_line_each_in_batches(
    api: Client, consumer: Consumer, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "MOST", 2)
    jobs = [str(make_dead(consumer, producer).job_id) for _ in range(5)]
    make_dead(make_consumer(make_channel("stock")), producer)

    exported = lines(api, "/dead-letters/export?channel=orders")

    assert [line["jobId"] for line in exported] == jobs[::-1]
    assert "message" not in exported[0]
    assert exported[0].keys() == api.get("/dead-letters").json()["result"][0].keys()


def test_an_export_holds_payloads_only_if_asked(api: Client, consumer: Consumer, producer: Producer) -> None:
    make_dead(consumer, producer)

    [line] = lines(api, "/dead-letters/export?payload=true")

    assert line["message"]["payload"] == "x"
    problem(api.get("/dead-letters/export?payload=perhaps"), 400, "invalid_filter")


def test_a_long_export_ends_and_says_where_to_go_on(
    api: Client, consumer: Consumer, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "MOST", 2)
    monkeypatch.setattr(export, "MOST_BYTES", 1)
    jobs = [str(make_dead(consumer, producer).job_id) for _ in range(3)]

    *first, last = lines(api, "/dead-letters/export?channel=orders")

    assert [line["jobId"] for line in [*first, *lines(api, last["next"])]] == jobs[::-1]
