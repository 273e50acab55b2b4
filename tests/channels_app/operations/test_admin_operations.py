"""Operations in the admin: how far they are, and who may stop them and let them go on."""

import pytest
from django.test import Client
from django.urls import reverse

from channels_app.models import Channel, Operation, OperationStatus
from channels_app.operations import runner
from tests.channels_app.messages import make_messages
from tests.channels_app.operations.raising import Raise, registered, start
from tests.channels_app.registry import make_channel
from tests.channels_app.staff import history, log_in, page, pages
from tests.channels_app.test_admin_messages import SCRIPT, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def operation() -> Operation:
    registered(Raise())
    channel: Channel = make_channel()
    make_messages(channel, "a", "b", "c", "d", "e")
    return start(channel)


def act(client: Client, operation: Operation, name: str) -> int:
    return client.post(reverse("admin:channels_app_operation_act", args=[operation.pk, name])).status_code


def test_a_page_shows_how_far_it_is_and_asks_again(admin_client: Client, operation: Operation) -> None:
    runner.run_step(operation.pk)
    assert "2 of 5 done" in text_of(admin_client, operation)
    assert "2 of 5 done" in admin_client.get(pages(Operation)).content.decode()
    told = admin_client.get(reverse("admin:channels_app_operation_progress", args=[operation.pk])).json()
    assert told == {"status": "RUNNING", "words": "2 of 5 done", "percent": 40, "isOpen": True}


def test_it_is_stopped_and_resumed_and_that_is_noted(admin_client: Client, operation: Operation) -> None:
    assert act(admin_client, operation, "stop") == 302
    runner.run_step(operation.pk)
    operation.refresh_from_db()
    assert (operation.status, operation.stopped_by) == (OperationStatus.STOPPED, "admin")
    assert act(admin_client, operation, "stop") == 302
    assert act(admin_client, operation, "resume") == 302
    operation.refresh_from_db()
    assert (operation.status, operation.resumed_by) == (OperationStatus.RUNNING, "admin")
    assert history(operation) == ["Asked to stop", "Resumed"]


def test_who_may_only_look_sees_no_button_and_is_refused(operation: Operation) -> None:
    client = log_in("view_operation")
    assert "stop_circle" not in text_of(client, operation)
    assert act(client, operation, "stop") == 403
    operation.refresh_from_db()
    assert operation.status == OperationStatus.RUNNING
    assert client.get(reverse("admin:channels_app_operation_act", args=[operation.pk, "stop"])).status_code == 405
    assert client.post(page(operation), {"status": "DONE"}).status_code == 403


def test_what_was_asked_for_is_shown_as_text(admin_client: Client, operation: Operation) -> None:
    Operation.objects.update(parameters={"note": SCRIPT}, last_error=SCRIPT)
    text = text_of(admin_client, operation)
    assert SCRIPT not in text
    assert text.count("&lt;script&gt;") >= 2
