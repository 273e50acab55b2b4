"""A letter is sent again with another content, to its consumer only."""

import pytest
from django.test import Client

from channels_app import counts
from channels_app.models import Consumer, DeliveryJob, JobStatus, Message, Producer
from channels_app.services import expunge
from dlq_app.models import DeadLetter, DeadLetterAct, Resolution
from tests.channels_app.registry import make_consumer, problem
from tests.dlq_app.letters import die, make_dead
from tests.dlq_app.test_api import post

pytestmark = pytest.mark.django_db


def test_an_edited_letter_goes_as_a_new_message_to_its_consumer_only(
    api: Client, consumer: Consumer, producer: Producer
) -> None:
    make_consumer(consumer.channel, "other")
    letter = make_dead(consumer, producer)
    asked = {
        "payload": '{"fixed": true}',
        "contentType": "application/json",
        "headers": {"X-Why": "café"},
        "note": "id",
    }

    answer = post(api, f"/dead-letters/{letter.job_id}/edit", asked)

    assert answer.status_code == 201, answer.content
    assert answer["Location"] == f"/channel/orders/message/m0.edited-{letter.job_id}"
    sent = api.get(answer["Location"]).json()
    assert (sent["payload"], sent["contentType"], sent["headers"]) == (
        '{"fixed": true}',
        "application/json",
        {"X-Why": "café"},
    )
    assert [(job["id"], job["consumer"], job["status"]) for job in sent["jobs"]] == [
        (answer.json()["jobId"], "billing", "QUEUED")
    ]
    original = api.get(f"/dead-letters/{letter.job_id}").json()
    assert (original["resolution"], original["note"], original["message"]["payload"]) == ("edited", "id", "x")
    assert original["editedMessageUrl"] == answer["Location"]
    assert [act["act"] for act in original["history"]] == ["entered", "edited"]
    assert DeliveryJob.objects.get(pk=letter.job_id).status == JobStatus.DEAD
    assert not counts.check().total


def test_what_is_left_out_stays_as_it_was(api: Client, consumer: Consumer, producer: Producer) -> None:
    letter = make_dead(consumer, producer)
    Message.objects.update(priority=7, headers={"X-Old": "1"})

    answer = post(api, f"/dead-letters/{letter.job_id}/edit", {"payloadBase64": "/w=="})

    sent = Message.objects.get(message_id=answer.json()["messageId"])
    assert bytes(sent.payload) == b"\xff"
    assert (sent.content_type, sent.headers, sent.priority) == ("text/plain", {"X-Old": "1"}, 7)
    assert (sent.producer_id, sent.status) == (producer.pk, 101)


def test_who_polls_by_index_does_not_see_what_was_edited_for_another(
    api: Client, consumer: Consumer, producer: Producer
) -> None:
    post(api, f"/dead-letters/{make_dead(consumer, producer).job_id}/edit", {"payload": "y"})

    assert Message.objects.get(message_id__contains="edited").sequence is None


def test_an_edited_message_that_dies_is_a_letter_of_its_own(
    api: Client, consumer: Consumer, producer: Producer
) -> None:
    letter = make_dead(consumer, producer)
    answer = post(api, f"/dead-letters/{letter.job_id}/edit", {"payload": "y"})

    die(DeliveryJob.objects.get(pk=answer.json()["jobId"]))

    assert {(one.resolution, one.message.message_id) for one in DeadLetter.objects.all()} == {
        (Resolution.EDITED, "m0"),
        (None, f"m0.edited-{letter.job_id}"),
    }
    assert not counts.check().total


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        ({}, (400, "nothing_to_edit")),
        ({"payload": ""}, (400, "invalid")),
        ({"payload": {"a": 1}}, (400, "invalid")),
        ({"payload": "x", "payloadBase64": "eA=="}, (400, "invalid")),
        ({"payloadBase64": "?"}, (400, "invalid")),
        ({"headers": {"Host": "x"}}, (400, "reserved_header")),
        ({"headers": {"X-A": "a\r\nb"}}, (400, "invalid_header")),
        ({"contentType": "\n"}, (400, "invalid")),
        ({"payload": "x", "priority": 1}, (400, "invalid")),
        ({"payload": "x", "note": "x" * 1001}, (400, "invalid")),
        ({"payload": "x", "note": "\0"}, (400, "invalid")),
        ({"payload": "x" * (1024 * 1024 + 1)}, (413, "payload_too_large")),
    ],
)
def test_a_bad_edit_changes_nothing(
    api: Client, consumer: Consumer, producer: Producer, body: dict[str, object], refused: tuple[int, str]
) -> None:
    letter = make_dead(consumer, producer)

    problem(post(api, f"/dead-letters/{letter.job_id}/edit", body), *refused)

    assert Message.objects.count() == 1
    assert DeadLetterAct.objects.count() == 1
    assert DeadLetter.objects.open().count() == 1


def test_a_letter_is_edited_once(api: Client, consumer: Consumer, producer: Producer) -> None:
    letter = make_dead(consumer, producer)
    post(api, f"/dead-letters/{letter.job_id}/edit", {"payload": "y"})

    problem(post(api, f"/dead-letters/{letter.job_id}/edit", {"payload": "z"}), 409, "already_resolved")
    assert Message.objects.count() == 2


def test_of_an_expunged_message_only_the_payload_can_be_given_anew(
    api: Client, consumer: Consumer, producer: Producer
) -> None:
    letter = make_dead(consumer, producer)
    expunge(message=letter.message, by="anna")

    problem(post(api, f"/dead-letters/{letter.job_id}/edit", {"headers": {}}), 409, "message_expunged")
    assert post(api, f"/dead-letters/{letter.job_id}/edit", {"payload": "y"}).status_code == 201


def test_nothing_is_edited_for_who_polls_by_index(api: Client, consumer: Consumer, producer: Producer) -> None:
    polling = make_consumer(consumer.channel, "p", type="pull", pull_mode="index")

    answer = post(api, f"/dead-letters/{make_dead(polling, producer).job_id}/edit", {"payload": "y"})

    problem(answer, 409, "polled_by_index")
