"""How the door says no, and the way in to a subscriber by its id alone."""

import json

import pytest
from django.db import connection

from broker_project.api.exceptions import StorageAway
from broker_project.api.frame import MethodNotAllowed
from broker_project.lib.errors import BrokerError, ServerError
from channels_app.api.pacing import Throttled
from channels_app.api.pull.door import InvalidDocument
from channels_app.api.queue.door import refused
from channels_app.api.queue.errors import KeyNeeded, UnknownQueue
from channels_app.api.queue.finding import _NAMED
from channels_app.models import Consumer
from tests.channels_app.messages import nodes_of, plan_of
from tests.channels_app.registry import make_channel, make_consumer

FIELDS = [
    {"field": "name", "code": "missing_field", "detail": "This field is needed."},
    {"field": "", "code": "invalid", "detail": "An object is expected."},
]
REFUSALS: list[tuple[BrokerError, int, list[str], dict[bytes, bytes]]] = [
    (UnknownQueue(), 404, ["There is no queue with this name."], {}),
    (KeyNeeded(), 401, ["Send an API key: Authorization: Bearer <key>."], {b"www-authenticate": b"Bearer"}),
    (InvalidDocument(errors=FIELDS), 400, ["name: This field is needed.", "An object is expected."], {}),
    (StorageAway(), 503, [StorageAway().detail], {b"retry-after": b"2"}),
    (Throttled(7.2), 429, [Throttled(1).detail], {b"retry-after": b"8"}),
    (MethodNotAllowed(), 405, ["This address does not know that method."], {}),
    (ServerError(), 500, [ServerError().detail], {}),
]


@pytest.mark.parametrize(("error", "status", "told", "headers"), REFUSALS)
def test_a_refusal_is_a_list_of_sentences(
    error: BrokerError, status: int, told: list[str], headers: dict[bytes, bytes]
) -> None:
    reply = refused(error)

    assert (reply.status, reply.content_type, json.loads(reply.body)) == (status, "application/json", {"errors": told})
    assert dict(reply.headers) == headers


@pytest.mark.django_db
def test_a_subscriber_is_found_among_many_by_an_index() -> None:
    channel = make_channel()
    make_consumer(channel, "sub-1", type="pull", pull_mode="index")
    rows = [Consumer(channel=channel, public_id=f"k{number}", name="k", type="pull") for number in range(2_000)]
    Consumer.objects.bulk_create(rows)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE consumer")

    plan = plan_of(_NAMED, ["sub-1"])

    assert "consumer_by_public_id" in {node.get("Index Name") for node in nodes_of(plan)}
