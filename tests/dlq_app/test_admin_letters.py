"""Dead letters in the admin: found by index, shown as text, acted on by those who may, and audited."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from channels_app import counts
from channels_app.models import Channel, Consumer, DeliveryJob, JobStatus, Message, Operation, Producer
from dlq_app.admin.asking import meant
from dlq_app.models import DeadLetter, DeadLetterAct, Resolution
from tests.channels_app.registry import make_channel, make_consumer, make_producer
from tests.channels_app.staff import log_in, pages
from tests.channels_app.test_admin_messages import SCRIPT
from tests.dlq_app.letters import die, make_dead

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


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
    return make_consumer(channel)


@pytest.fixture
def letter(consumer: Consumer, producer: Producer) -> DeadLetter:
    return make_dead(consumer, producer, error="connection refused", status_code=None)


def page(letter: DeadLetter, name: str = "change") -> str:
    return reverse(f"admin:dlq_app_deadletter_{name}", args=[letter.job_id])


def own(name: str) -> str:
    return reverse(f"admin:dlq_app_deadletter_{name}")


def found(client: Client, **query: Any) -> list[int]:
    return [row.job_id for row in client.get(pages(DeadLetter), query).context["cl"].result_list]


def act(client: Client, name: str, *letters: DeadLetter, **more: Any) -> Any:
    chosen = [letter.pk for letter in letters]
    return client.post(pages(DeadLetter), {"action": name, "_selected_action": chosen, **more}, follow=True)


def said(answer: Any) -> str:
    return " ".join(str(message) for message in answer.context["messages"])


def text_of(answer: Any) -> str:
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def noted(letter: DeadLetter) -> list[str]:
    entries = LogEntry.objects.filter(content_type__model="deadletter", object_id=str(letter.job_id)).order_by("pk")
    return [entry.get_change_message() for entry in entries]


def entered(letter: DeadLetter, *, ago: timedelta) -> DeadLetter:
    DeadLetter.objects.filter(pk=letter.pk).update(entered_at=timezone.now() - ago)
    return letter


def test_letters_are_found_by_all_that_an_operator_knows(
    admin_client: Client, consumer: Consumer, producer: Producer
) -> None:
    other = make_consumer(make_channel("other"), "mail")
    old = entered(make_dead(consumer, producer, error="Timeout: gateway 7 away", reason="timeout"), ago=8 * DAY)
    same = entered(make_dead(other, producer, error="Timeout: gateway 8 away", reason="timeout"), ago=2 * HOUR)
    new = make_dead(other, producer, error="Name unknown", reason="dns")
    everything = [new.job_id, same.job_id, old.job_id]

    assert found(admin_client) == everything
    asked: list[tuple[dict[str, Any], list[DeadLetter]]] = [
        ({"channel__id__exact": consumer.channel_id}, [old]),
        ({"consumer__id__exact": other.pk}, [new, same]),
        ({"reason__exact": "timeout"}, [same, old]),
        ({"cause": old.fingerprint}, [same, old]),
        ({"cause": old.fingerprint, "consumer__id__exact": other.pk}, [same]),
        ({"cause": "1"}, []),
        ({"age": "hour"}, [new]),
        ({"age": "day"}, [same]),
        ({"age": "week"}, []),
        ({"age": "older"}, [old]),
        ({"entered_at_from_0": f"{timezone.now() - DAY:%Y-%m-%d}"}, [new, same]),
        ({"entered_at_to_0": f"{timezone.now() - DAY:%Y-%m-%d}", "entered_at_to_1": "10:00:00"}, [old]),
        ({"q": "GATEWAY timeout"}, [same, old]),
        ({"q": "nobody said this"}, []),
        ({"q": "gateway", "reason__exact": "timeout", "channel__id__exact": other.channel_id}, [same]),
    ]
    for query, expected in asked:
        jobs = [letter.job_id for letter in expected]
        assert found(admin_client, **query) == jobs, query
        described = meant({name: str(value) for name, value in query.items()}, timezone.now())
        assert described is not None
        assert [letter.job_id for letter in described.letters().order_by("-pk")] == jobs, query
    assert found(admin_client, q=str(old.job_id)) == [old.job_id]
    assert found(admin_client, q=Message.objects.get(pk=same.message_id).message_id) in ([], [same.job_id])


def test_a_letter_is_found_by_its_message_id(admin_client: Client, letter: DeadLetter) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO message_key (channel_id, message_id, row_id) SELECT channel_id, message_id, id FROM message"
        )
    assert found(admin_client, q=letter.message.message_id) == [letter.job_id]


@pytest.mark.parametrize(
    "query",
    [
        {"cause": "x"},
        {"cause": "9" * 30},
        {"entered_at_from_0": "yesterday"},
        {"entered_at_to_0": "9999-12-31"},
        {"entered_at_from_0": "0001-01-01"},
        {"age": "stone"},
        {"q": SCRIPT},
        {"p": "x"},
        {"channel__id__exact": "x"},
        {"consumer__token": "x"},
    ],
)
def test_a_mistyped_address_is_no_error_and_no_act_on_others(
    admin_client: Client, letter: DeadLetter, query: dict[str, str]
) -> None:
    assert admin_client.get(f"{pages(DeadLetter)}?{urlencode(query)}", follow=True).status_code < 500
    if query in ({"q": SCRIPT}, {"p": "x"}):
        return
    answer = admin_client.post(f"{own('redrive')}?{urlencode(query)}", {"confirmed": "yes"}, follow=True)
    assert "Nothing was done" in said(answer)
    assert not Operation.objects.exists()


def test_pages_of_letters_follow_their_ids(
    admin_client: Client, consumer: Consumer, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dlq_app.admin.letters.DeadLetterAdmin.list_per_page", 2)
    jobs = [make_dead(consumer, producer).job_id for _ in range(5)]
    seen, address = [], pages(DeadLetter)
    for _ in range(3):
        shown = admin_client.get(address).context["cl"]
        seen += [row.job_id for row in shown.result_list]
        address = pages(DeadLetter) + shown.older_address
    assert seen == jobs[::-1]


def test_a_list_costs_the_same_however_many_rows_it_shows(
    admin_client: Client, consumer: Consumer, producer: Producer
) -> None:
    spent = []
    for count in (1, 20):
        for _ in range(count):
            make_dead(consumer, producer)
        with CaptureQueriesContext(connection) as queries:
            admin_client.get(pages(DeadLetter))
        spent.append(len(queries))
    assert spent[0] == spent[1]


def test_what_strangers_wrote_is_shown_as_text(admin_client: Client, consumer: Consumer, producer: Producer) -> None:
    letter = make_dead(consumer, producer, error=f"error {SCRIPT}", answer=f"answer {SCRIPT}")
    Message.objects.filter(pk=letter.message_id).update(
        payload=f'{{"payload": "{SCRIPT}"}}'.encode(), headers={f"X-{SCRIPT}": f"header {SCRIPT}"}
    )
    act(admin_client, "requeue", letter, confirmed="yes", note=f"note {SCRIPT}")
    die(DeliveryJob.objects.get(), error=f"error {SCRIPT}")

    shown = text_of(admin_client.get(page(letter)))
    for word in ("error", "answer", "header", "note"):
        assert f"{word} &lt;script&gt;" in shown, word
    assert "&quot;payload&quot;: &quot;&lt;script&gt;" in shown
    again = DeadLetter.objects.get()
    asking = admin_client.post(own("redrive"))
    for answer in (
        admin_client.get(pages(DeadLetter)),
        admin_client.get(pages(DeadLetter), {"cause": again.fingerprint}),
        admin_client.get(own("overview")),
        asking,
        admin_client.post(own("redrive"), query_params={"cause": again.fingerprint, "q": SCRIPT}),
    ):
        text = text_of(answer)
        assert "&lt;script&gt;alert" in text
        assert SCRIPT not in text
    assert SCRIPT not in shown


def test_a_letter_tells_why_what_was_tried_and_what_was_done(admin_client: Client, letter: DeadLetter) -> None:
    act(admin_client, "requeue", letter, confirmed="yes", note="the door is open now", from_page="yes")

    shown = admin_client.get(page(letter))
    text = text_of(shown)
    assert "connection refused" in text
    assert "The consumer failed: look at its own log" in text
    assert [moment.word for moment in shown.context["history"]] == ["entered", "requeued"]
    assert shown.context["engine"].word == "requeued"
    assert "by admin: the door is open now" in text
    assert admin_client.get(page(letter, "history")).status_code == 200
    assert admin_client.get(reverse("admin:dlq_app_deadletter_change", args=[999_999])).status_code == 302


def test_the_chosen_are_requeued_after_a_question_and_it_is_noted(
    admin_client: Client, consumer: Consumer, producer: Producer
) -> None:
    letters = [make_dead(consumer, producer) for _ in range(3)]

    asked = act(admin_client, "requeue", *letters[:2])
    assert "Requeue 2 dead letters?" in text_of(asked)
    assert DeadLetter.objects.open().count() == 3
    answer = act(admin_client, "requeue", *letters[:2], confirmed="yes", note="mended")

    assert said(answer) == "Requeued: 2 dead letters."
    assert [job.status for job in DeliveryJob.objects.order_by("pk")] == [
        JobStatus.QUEUED,
        JobStatus.QUEUED,
        JobStatus.DEAD,
    ]
    assert noted(letters[0]) == ["Requeued: mended"]
    assert noted(letters[2]) == []
    assert not counts.check().total
    assert "Nothing was done" in said(act(admin_client, "requeue", letters[0], confirmed="yes"))


def test_a_discarded_letter_leaves_lists_and_counts_and_keeps_its_history(
    admin_client: Client, letter: DeadLetter
) -> None:
    answer = act(admin_client, "discard", letter, confirmed="yes", from_page="yes")

    assert said(answer) == "Discarded: 1 dead letter."
    assert answer.redirect_chain[-1][0] == page(letter)
    letter.refresh_from_db()
    assert (letter.resolution, letter.resolved_by) == (Resolution.DISCARDED, "admin")
    assert DeliveryJob.objects.get().status == JobStatus.DEAD
    assert [done.act for done in DeadLetterAct.objects.order_by("pk")] == ["entered", "discarded"]
    assert found(admin_client) == []
    assert not counts.check().total


def test_what_cannot_be_sent_stays_and_staff_are_told(admin_client: Client, letter: DeadLetter) -> None:
    DeadLetter.objects.update(times=11)
    answer = act(admin_client, "requeue", letter, confirmed="yes")
    assert "Left as they were: 1." in said(answer)
    assert noted(letter) == []
    assert DeadLetter.objects.open().exists()


def test_all_that_match_are_requeued_by_an_operation(
    admin_client: Client, consumer: Consumer, producer: Producer
) -> None:
    for error in ("away", "away", "broken"):
        make_dead(consumer, producer, error=error)
    last = DeadLetter.objects.order_by("pk").last()
    assert last is not None
    query = {"consumer__id__exact": str(consumer.pk), "q": "away"}

    asked = admin_client.post(own("redrive"), query_params=query)
    assert "Requeue all that match: 2?" in text_of(asked)
    assert '<li style="overflow-wrap: anywhere">consumer: billing</li>' in text_of(asked)
    refused = admin_client.post(own("redrive"), {"confirmed": "yes", "rate": "-1"}, query_params=query)
    assert "greater than or equal to 1" in text_of(refused)
    assert not Operation.objects.exists()
    admin_client.post(own("redrive"), {"confirmed": "yes", "rate": "50", "note": "mended"}, query_params=query)

    operation = Operation.objects.get()
    assert (operation.kind, operation.asked_by, operation.until) == ("redrive", "admin", last.pk)
    assert operation.parameters == {
        "filter": {"consumer_id": consumer.pk, "words": "away"},
        "asked": {"consumer": "billing", "words": "away"},
        "note": "mended",
        "rate_per_second": 50,
    }
    assert LogEntry.objects.get(content_type__model="operation").object_id == str(operation.pk)


def test_a_consumer_is_cleared(admin_client: Client, consumer: Consumer, producer: Producer) -> None:
    other = make_consumer(consumer.channel, "other")
    for whose in (consumer, consumer, other):
        make_dead(whose, producer)

    asked = admin_client.post(own("clear"), {"consumer": consumer.pk})
    assert "discard all its 2 dead letters?" in text_of(asked)
    admin_client.post(own("clear"), {"consumer": consumer.pk, "confirmed": "yes", "note": "a test"})

    assert [letter.consumer_id for letter in DeadLetter.objects.open()] == [other.pk]
    assert LogEntry.objects.get().get_change_message() == "Cleared: 2 dead letters discarded: a test"
    assert not counts.check().total
    assert admin_client.post(own("clear"), {"consumer": "x"}).status_code == 404


def edit(client: Client, letter: DeadLetter, **typed: str) -> Any:
    shown = client.get(page(letter, "edit"))
    values = {bound.name: bound.value() or "" for bound in shown.context["form"]}
    return client.post(page(letter, "edit"), {**values, **typed}, follow=True)


def test_a_letter_is_edited_and_sent_again_and_the_original_kept(admin_client: Client, letter: DeadLetter) -> None:
    Message.objects.update(payload=b'{"order":\n"7"}', headers={"X-Kept": "1"})

    answer = edit(admin_client, letter, payload='{"order":\r\n"8"}', note="a typo")

    sent = Message.objects.exclude(pk=letter.message_id).get()
    assert said(answer) == f"Edited and sent again as {sent.message_id}."
    assert (bytes(sent.payload), sent.headers, sent.content_type) == (b'{"order":\n"8"}', {"X-Kept": "1"}, "text/plain")
    assert bytes(Message.objects.get(pk=letter.message_id).payload) == b'{"order":\n"7"}'
    assert noted(letter) == [f"Edited and sent again as {sent.message_id}: a typo"]
    text = text_of(answer)
    assert '"letters-taken">- &quot;order&quot;: &quot;7&quot;<' in text
    assert '"letters-added">+ &quot;order&quot;: &quot;8&quot;<' in text
    assert "Requeue" not in text
    assert "Nothing was done" in said(admin_client.get(page(letter, "edit"), follow=True))


def test_headers_and_type_are_edited_beside_a_payload_that_is_no_text(admin_client: Client, letter: DeadLetter) -> None:
    Message.objects.update(payload=b"\x00\xff")
    edit(admin_client, letter, headers="X-A: 1\r\nX-B: ü", content_type="image/png")
    sent = Message.objects.exclude(pk=letter.message_id).get()
    assert (bytes(sent.payload), sent.content_type) == (b"\x00\xff", "image/png")
    assert sent.header_texts == {"X-A": "1", "X-B": "ü"}


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ({}, "Nothing was changed"),
        ({"payload": ""}, "This field is required"),
        ({"headers": "no colon"}, "A header is a line"),
        ({"headers": "Host: x"}, "connection"),
        ({"content_type": "\u2603"}, "Enter a valid value"),
        ({"content_type": "text/plain\n"}, "Enter a valid value"),
    ],
)
def test_an_edit_that_is_none_is_asked_for_again(
    admin_client: Client, letter: DeadLetter, typed: dict[str, str], told: str
) -> None:
    assert told in text_of(edit(admin_client, letter, **typed))
    assert DeadLetter.objects.open().exists()
    assert Message.objects.count() == 1


def test_headers_that_nobody_touched_stay_byte_for_byte(admin_client: Client, letter: DeadLetter) -> None:
    """As a browser sends them: with other ends of lines. One of them is no UTF-8."""
    Message.objects.update(headers={"X-A": "1", "X-B": "caf\xe9"})
    headers = "X-A: 1\r\nX-B: café"

    assert "Nothing was changed" in text_of(edit(admin_client, letter, headers=headers))
    edit(admin_client, letter, headers=headers, payload="other")

    assert Message.objects.exclude(pk=letter.message_id).get().headers == {"X-A": "1", "X-B": "caf\xe9"}


def test_what_was_never_a_choice_is_refused_in_words(admin_client: Client, letter: DeadLetter) -> None:
    for chosen in ("abc", "\0", "9" * 30):
        forged = admin_client.post(pages(DeadLetter), {"action": "requeue", "_selected_action": chosen}, follow=True)
        assert "Nothing was done" in said(forged)


def test_the_links_of_a_letter_s_page_lead_to_it(admin_client: Client, letter: DeadLetter, producer: Producer) -> None:
    DeliveryJob.objects.filter(pk=letter.job_id).update(id=letter.job_id + 1000)
    DeadLetter.objects.filter(pk=letter.pk).update(job_id=letter.job_id + 1000)
    letter.refresh_from_db()

    text = text_of(admin_client.get(page(letter)))

    assert page(letter, "history") in text
    assert f"/{letter.pk}/" not in text


def test_who_may_not_look_may_not_act(letter: DeadLetter) -> None:
    client = log_in("act_on_deadletter")
    assert client.get(page(letter, "edit")).status_code == 403
    assert client.post(own("redrive"), {"confirmed": "yes"}).status_code == 403


def test_who_may_only_look_sees_no_button_and_is_refused(letter: DeadLetter) -> None:
    client = log_in("view_deadletter")
    for address in (page(letter), f"{pages(DeadLetter)}?consumer__id__exact={letter.consumer_id}"):
        text = text_of(client.get(address))
        for word in ("Requeue", "Discard", "Clear this"):
            assert word not in text
    for name in ("requeue", "discard"):
        assert act(client, name, letter, confirmed="yes").status_code == 403
    assert client.get(page(letter, "edit")).status_code == 403
    assert client.post(page(letter, "edit"), {"payload": "x"}).status_code == 403
    assert client.post(own("redrive"), {"confirmed": "yes"}).status_code == 403
    assert client.post(own("clear"), {"consumer": letter.consumer_id, "confirmed": "yes"}).status_code == 403
    assert DeadLetter.objects.open().exists()
    assert not Operation.objects.exists()


def test_who_may_act_may_not_clear_and_the_other_way_round(letter: DeadLetter) -> None:
    actor = log_in("view_deadletter", "act_on_deadletter")
    shown = text_of(actor.get(pages(DeadLetter), {"consumer__id__exact": letter.consumer_id}))
    assert "Requeue all that match" in shown
    assert "Clear this" not in shown
    assert actor.post(own("clear"), {"consumer": letter.consumer_id, "confirmed": "yes"}).status_code == 403
    assert "Requeued: 1" in said(act(actor, "requeue", letter, confirmed="yes"))


def test_a_stranger_sees_nothing(letter: DeadLetter) -> None:
    client = log_in("view_message")
    for address in (page(letter), pages(DeadLetter), own("overview")):
        assert client.get(address).status_code == 403


def test_acts_are_posts_with_a_token(admin_client: Client, letter: DeadLetter) -> None:
    for name in ("redrive", "clear"):
        assert admin_client.get(own(name)).status_code == 405
    strict = Client(
        enforce_csrf_checks=True, headers={"Cookie": f"sessionid={admin_client.cookies['sessionid'].value}"}
    )
    for address in (pages(DeadLetter), own("redrive"), own("clear")):
        chosen = {"action": "discard", "_selected_action": letter.pk, "consumer": letter.consumer_id}
        assert strict.post(address, {**chosen, "confirmed": "yes"}).status_code == 403
    assert DeadLetter.objects.open().exists()
