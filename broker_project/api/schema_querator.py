"""Querator's calls in the OpenAPI document. Its statuses are its codes."""

from typing import Any

from broker_project.api.schema_acks import json_answer, object_of
from broker_project.api.schema_door import TEXT
from broker_project.api.schema_foreign import Door, json_body
from broker_project.api.schema_pull import TIME

REPLY = object_of(
    {
        "code": {"type": "integer"},
        "code_text": TEXT,
        "message": TEXT,
        "details": {"type": "object", "additionalProperties": TEXT},
    },
    *("code", "code_text", "message", "details"),
)
DOOR = Door(
    tag="Querator",
    security=[{"apiKey": []}],
    refusal=REPLY,
    refusals={
        400: "An option is not valid; also another method than POST, or a body that is too large.",
        401: "No API key, or one that is not valid.",
        429: "Too much was refused; details say when to come back.",
        454: "Try again: nothing came in time, a limit was reached, or the database does not answer.",
        455: "The body is not the JSON that this call takes.",
        500: "Something went wrong on our side.",
    },
)
NO_QUEUE = {404: "There is no such queue."}
STALE = {409: "An item is not leased, or no longer under this id. Nothing was changed."}
DONE = {"200": json_answer("Done.", REPLY)}

# As protobuf's JSON has it: a number may be a text, and what is not said may be null.
WORD = {"type": ["string", "null"]}
NUMBER = {"oneOf": [{"type": "number"}, {"type": "string", "pattern": "^-?[0-9]{1,10}$"}, {"type": "null"}]}
FLAG = {"type": ["boolean", "null"]}
MOMENT = {"oneOf": [TIME, {"type": "null"}]}
BYTES = {"type": "string", "contentEncoding": "base64"}
TIMEOUT = {**WORD, "description": "As 30s or 5m: up to 15m, and needed."}
COUNT = {"type": "integer"}

QUEUE = {
    "queue_name": WORD,
    "dead_queue": {**WORD, "description": "Where an item goes that is out of attempts, or refused."},
    "reference": WORD,
    "lease_timeout": {**WORD, "description": "For how long a leased item is its client's."},
    "expire_timeout": {**WORD, "description": "How long an item waits at most."},
    "max_attempts": {**NUMBER, "description": "0: as many as it takes."},
    "requested_partitions": NUMBER,
}
INFO = object_of(
    {
        **dict.fromkeys(("queue_name", "dead_queue", "reference", "lease_timeout", "expire_timeout"), TEXT),
        **dict.fromkeys(("created_at", "updated_at"), TIME),
        **dict.fromkeys(("max_attempts", "requested_partitions"), COUNT),
        "partitions": {"type": "array", "items": object_of({"partition": COUNT}, "partition")},
    },
    *("queue_name", "created_at", "updated_at", "lease_timeout", "expire_timeout", "requested_partitions"),
)
NEW_ITEM = {
    "encoding": WORD,
    "kind": WORD,
    "reference": WORD,
    "enqueue_at": {**MOMENT, "description": "Not before then."},
    "bytes": {**WORD, "contentEncoding": "base64"},
    "utf8": WORD,
}
WORDS = dict.fromkeys(("encoding", "kind", "reference"), TEXT)
LEASED = object_of(
    {"id": TEXT, "attempts": COUNT, "lease_deadline": TIME, **WORDS, "bytes": BYTES}, "id", "attempts", "bytes"
)
STORED = object_of(
    {
        "id": TEXT,
        "source_id": TEXT,
        "is_leased": {"type": "boolean"},
        **dict.fromkeys(("lease_deadline", "expire_deadline", "created_at", "updated_at", "enqueue_at"), TIME),
        **dict.fromkeys(("attempts", "max_attempts"), COUNT),
        **WORDS,
        "payload": BYTES,
    },
    *("id", "is_leased", "attempts", "payload"),
)
PAGE = {"pivot": {**WORD, "description": "The first of the page."}, "limit": NUMBER}
OF_PARTITION = {"queue_name": WORD, "partition": NUMBER}


def querator_paths() -> dict[str, Any]:
    return {
        "/v1/queues.create": _call("querator.create", "Create a queue", QUEUE, DONE, {409: "It exists."}),
        "/v1/queues.list": _list(),
        "/v1/queues.info": _call("querator.info", "A queue", {"queue_name": WORD}, _found(INFO), NO_QUEUE),
        "/v1/queues.update": _call("querator.update", "Change a queue", QUEUE, DONE, NO_QUEUE),
        "/v1/queues.delete": _delete(),
        "/v1/queue.produce": _produce(),
        "/v1/queue.lease": _lease(),
        "/v1/queue.complete": _complete(),
        "/v1/queue.retry": _retry(),
        "/v1/queue.stats": _stats(),
        "/v1/queue.clear": _clear(),
        "/v1/storage/items.list": _stored("querator.items", "Items that are not for later"),
        "/v1/storage/scheduled.list": _stored("querator.scheduled", "Items for later"),
    }


def _call(
    operation_id: str,
    summary: str,
    fields: dict[str, Any],
    answers: dict[str, Any],
    more: dict[int, str] | None = None,
) -> dict[str, Any]:
    body = {**object_of(fields), "additionalProperties": False}
    return {"post": DOOR.operation(operation_id, summary, answers, body=json_body(body), more=more)}


def _list() -> dict[str, Any]:
    """Nothing at all asks for the first page."""
    made = _call("querator.list", "Queues, by name", {**PAGE, "namespace": WORD}, _listed(INFO))["post"]
    return {"post": {**made, "requestBody": {**made["requestBody"], "required": False}}}


def _found(schema: dict[str, Any]) -> dict[str, Any]:
    return {"200": json_answer("This.", schema)}


def _listed(schema: dict[str, Any]) -> dict[str, Any]:
    return _found(object_of({"items": {"type": "array", "items": schema}}, "items"))


def _delete() -> dict[str, Any]:
    fields = {"queue_name": WORD, "force": FLAG}
    conflict = {409: "It is the dead queue of another."}
    return _call("querator.delete", "Delete a queue", fields, DONE, {**NO_QUEUE, **conflict})


def _produce() -> dict[str, Any]:
    item = {**object_of(NEW_ITEM), "additionalProperties": False}
    items = {"type": ["array", "null"], "items": item, "description": "Up to 1,000, and 5 MB; all or nothing."}
    fields = {"queue_name": WORD, "request_timeout": TIMEOUT, "items": items}
    return _call("querator.produce", "Produce items, now or for later", fields, DONE, NO_QUEUE)


def _lease() -> dict[str, Any]:
    fields = {"queue_name": WORD, "batch_size": NUMBER, "client_id": WORD, "request_timeout": TIMEOUT}
    leased = {"queue_name": TEXT, "partition": COUNT, "items": {"type": "array", "items": LEASED}}
    waits = {409: "This client waits for items of this queue already."}
    found = _found(object_of(leased, *leased))
    return _call("querator.lease", "Lease items, or wait for some", fields, found, {**NO_QUEUE, **waits})


def _complete() -> dict[str, Any]:
    ids = {"type": ["array", "null"], "items": TEXT}
    fields = {**OF_PARTITION, "request_timeout": TIMEOUT, "ids": ids}
    return _call("querator.complete", "Leased items are done", fields, DONE, {**NO_QUEUE, **STALE})


def _retry() -> dict[str, Any]:
    at = {**MOMENT, "description": "Not before then; a time before the item expires."}
    item = {**object_of({"id": WORD, "retry_at": at, "dead": FLAG}), "additionalProperties": False}
    fields = {**OF_PARTITION, "items": {"type": ["array", "null"], "items": item}}
    return _call("querator.retry", "Leased items again, later, or never", fields, DONE, {**NO_QUEUE, **STALE})


def _stats() -> dict[str, Any]:
    found = object_of({"queue_name": TEXT, "logicalQueues": {"type": "array"}}, "queue_name", "logicalQueues")
    return _call("querator.stats", "Figures of a queue", {"queue_name": WORD}, _found(found), NO_QUEUE)


def _clear() -> dict[str, Any]:
    fields = {"queue_name": WORD, "scheduled": FLAG, "queue": FLAG, "destructive": FLAG}
    return _call("querator.clear", "Empty a queue", fields, DONE, NO_QUEUE)


def _stored(operation_id: str, summary: str) -> dict[str, Any]:
    return _call(operation_id, summary, {**OF_PARTITION, **PAGE}, _listed(STORED), NO_QUEUE)
