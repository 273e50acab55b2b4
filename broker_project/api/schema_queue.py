"""The polled queue in the OpenAPI document."""

from typing import Any

from broker_project.api.schema_acks import json_answer, object_of
from broker_project.api.schema_door import ID, TEXT
from broker_project.api.schema_foreign import Door, json_body
from broker_project.api.schema_pull import COUNT, INDEX, REASONS, TIME

DOOR = Door(
    tag="polled queue",
    security=[{"apiKey": []}],
    refusal=object_of({"errors": {"type": "array", "minItems": 1, "items": TEXT}}, "errors"),
    refusals={
        400: "The body is not the JSON that is wanted here. Nothing was changed.",
        401: "No API key, or one that is not valid.",
        415: "Send JSON.",
        429: "A limit was reached, or too much was refused; see Retry-After.",
        503: "The database does not answer, or more comes than can be stored; see Retry-After.",
    },
)
NO_QUEUE = "There is no such queue."
NO_SUBSCRIBER = "There is no such queue, or the subscriber is not registered for it."
SEVERAL = "The subscriber is registered for several queues and does not say which, or is a consumer of another kind."

METADATA = object_of({"queue_name": ID}, "queue_name")
SHOWN = {
    "id": {"type": "integer", "minimum": 1, "description": "Its index in the queue."},
    "metadata": METADATA,
    "value": {"description": "As it was published, to the byte."},
}
MESSAGE = object_of({**SHOWN, "value_base64": {"type": "string", "contentEncoding": "base64"}}, "id", "metadata")
INDEXES = {
    "acked_index": {**COUNT, "description": "Everything up to it is acknowledged."},
    "sent_index": {**COUNT, "description": "Everything up to it was handed out."},
}
MAY_NAME = {**ID, "type": ["string", "null"], "description": "May be left out by a subscriber of one queue."}


def queue_paths() -> dict[str, Any]:
    return {
        "/v1/queue/create": {"post": _create()},
        "/v1/publish": {"post": _publish()},
        "/v1/subscribe/register": {"post": _register()},
        "/v1/subscribe/poll": {"post": _poll()},
        "/v1/subscribe/message/ack": {"post": _ack()},
    }


def _create() -> dict[str, Any]:
    name = object_of({"name": ID}, "name")
    return DOOR.operation(
        "createQueue",
        "Create a queue",
        {"200": json_answer("Created.", name)},
        body=json_body(_closed(name)),
        more={409: "There is a queue with this name."},
    )


def _publish() -> dict[str, Any]:
    metadata = {**_closed(object_of({"queue_name": ID})), "type": ["object", "null"]}
    sent = {"id": {"description": "Not looked at."}, "queue_name": MAY_NAME, "metadata": metadata, "value": {}}
    named_there = object_of({"metadata": object_of({}, "queue_name")}, "metadata")
    named_beside = object_of({"queue_name": ID}, "queue_name")
    body = {
        **_closed(object_of(sent, "value")),
        "anyOf": [named_there, named_beside],
        "description": "The queue is named in metadata, or beside value.",
    }
    return DOOR.operation(
        "publishToQueue",
        "Publish a message and learn its index",
        {"200": json_answer("Stored, and given to all subscribers.", object_of(SHOWN, *SHOWN))},
        body=json_body(body),
        more={404: NO_QUEUE},
    )


def _register() -> dict[str, Any]:
    names = {"queue_name": ID, "subscriber_id": ID}
    asked = {
        **names,
        "callback_url": {"type": ["string", "null"], "description": "Where it is told that there is something."},
        "unacked_cap": {"type": ["integer", "null"], "minimum": 1, "maximum": 100_000, "description": "10."},
        "start_from": {
            "oneOf": [INDEX, TIME, {"type": "null"}],
            "description": "An index to begin after, or a time; the next message if not given.",
        },
    }
    return DOOR.operation(
        "registerSubscriber",
        "Register a subscriber for a queue",
        {"200": json_answer("Registered.", object_of(names, *names))},
        body=json_body(_closed(object_of(asked, *names))),
        more={404: NO_QUEUE, 409: "The subscriber is registered for this queue."},
    )


def _poll() -> dict[str, Any]:
    asked = {
        "subscriber_id": ID,
        "queue_name": MAY_NAME,
        "message_id": {**INDEX, "type": ["integer", "null"], "description": "Those after it."},
        "fetch_count": {"type": ["integer", "null"], "minimum": 1, "maximum": 1_000, "description": "25."},
    }
    found = {
        "messages": {"type": "array", "maxItems": 1_000, "items": MESSAGE},
        **INDEXES,
        "last_index": {**COUNT, "description": "Of the queue."},
        "reason": {"enum": [*REASONS, None], "description": "Why there is nothing new; else null."},
    }
    return DOOR.operation(
        "pollQueue",
        "The next messages, or some again",
        {"200": json_answer("In order.", object_of(found, *found))},
        body=json_body(_closed(object_of(asked, "subscriber_id"))),
        more={404: NO_SUBSCRIBER, 409: SEVERAL},
    )


def _ack() -> dict[str, Any]:
    index = {**INDEX, "minimum": 1}
    asked = {"subscriber_id": ID, "queue_name": MAY_NAME, "message_id": index}
    told = {"message_id": index, "queue_name": ID, "subscriber_id": ID, **INDEXES}
    return DOOR.operation(
        "ackQueueMessage",
        "Acknowledge a message",
        {"200": json_answer("Done, or so before.", object_of(told, *told))},
        body=json_body(_closed(object_of(asked, "subscriber_id", "message_id"))),
        more={404: NO_SUBSCRIBER, 409: f"It was not handed out yet. {SEVERAL}"},
    )


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    return {**schema, "additionalProperties": False}
