"""Dapr's HTTP API in the OpenAPI document."""

from typing import Any

from broker_project.api.schema_acks import json_answer, object_of
from broker_project.api.schema_door import TEXT
from broker_project.api.schema_foreign import Door, json_body, path_parameter
from broker_project.api.schema_pull import TIME

TOKEN = {"daprApiToken": {"type": "apiKey", "in": "header", "name": "dapr-api-token"}}
TEXTS = {"type": "object", "additionalProperties": TEXT}
INFO = object_of({"@type": TEXT, "reason": TEXT, "domain": TEXT, "metadata": TEXTS}, "@type", "reason", "domain")
ERROR = object_of(
    {
        "errorCode": {**TEXT, "description": "Stable; match on this, or on `details[].reason`."},
        "message": TEXT,
        "details": {"type": "array", "items": INFO},
    },
    *("errorCode", "message", "details"),
)
DOOR = Door(
    tag="Dapr",
    security=[{"daprApiToken": []}],
    refusal=ERROR,
    refusals={
        400: "Something in the request is not valid. Nothing was stored.",
        401: "`ERR_UNAUTHENTICATED`: no dapr-api-token, or one that opens nothing.",
        429: "A limit was reached, or too much was refused; see Retry-After.",
        500: "`ERR_PUBSUB_CLOUD_EVENTS_SER`: this is no CloudEvent.",
        503: "The database does not answer, or more comes than can be stored; see Retry-After.",
    },
)
STORED = {"204": {"description": "Stored: committed to the database."}}
NOT_FOUND = "`ERR_PUBSUB_NOT_FOUND`: no such component. `ERR_TOPIC_NAME_EMPTY`."
FORBIDDEN = "`ERR_PUBSUB_FORBIDDEN`: no such topic, and the component makes none."
NO_JOB = "There is no job with this name."

APP = [
    {"name": name, "in": "header", "schema": TEXT, "description": description}
    for name, description in (
        ("dapr-app-id", "The application; the producer's id if not given."),
        ("dapr-namespace", "Of the application."),
    )
]
TOPIC = [path_parameter("pubsub", TEXT, "A component."), path_parameter("topic", TEXT, "A channel; may have slashes.")]
WISHES = [
    {"name": f"metadata.{name}", "in": "query", "schema": TEXT, "description": description}
    for name, description in (
        ("scheduledSendTime", "ISO-8601, UTC without a zone, or a duration: not before then. Also deliverAt."),
        ("ttlInSeconds", "What is not delivered by then is dead."),
        ("rawPayload", "true: no CloudEvent is made of it."),
        ("priority", "Higher first."),
    )
]
NAME = path_parameter("name", {"type": "string", "minLength": 1}, "Of the job.")
LISTING = path_parameter("listing", TEXT, "{app-id}-delayed, or {app-id}{namespace}-delayed.")
WHOLE = {"oneOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]{1,10}$"}, {"type": "null"}]}
WORD = {"type": ["string", "null"]}
JOB = object_of(
    {
        "schedule": {**WORD, "description": "Cron of five or six fields, or @every 30s, @daily, …"},
        "dueTime": {**WORD, "description": "A time or a duration: when it runs first, or once."},
        "repeats": {**WHOLE, "description": "How often a schedule runs."},
        "ttl": {**WORD, "description": "A time or a duration: not after that."},
        "data": {"description": "What is delivered."},
        "overwrite": {"type": ["boolean", "null"]},
        "failurePolicy": {"type": ["object", "null"]},
    }
)
ENTRY = object_of(
    {
        "entryId": {**TEXT, "minLength": 1, "description": "Unique in the request."},
        "event": {},
        "contentType": TEXT,
        "metadata": {"type": "object"},
    },
    *("entryId", "event"),
)
FAILED = object_of(
    {
        "failedEntries": {"type": "array", "items": object_of({"entryId": TEXT, "error": TEXT}, "entryId", "error")},
        "errorCode": TEXT,
    },
    *("failedEntries", "errorCode"),
)
DELAYED = object_of(
    {
        "topic": TEXT,
        "message": {"type": "string", "contentEncoding": "base64"},
        "contentType": TEXT,
        "metadata": TEXTS,
        "bulkPublish": {"type": "boolean"},
        "pubsubName": TEXT,
        "dueTime": TIME,
        "messageId": TEXT,
    },
    *("topic", "message", "contentType", "metadata", "bulkPublish", "dueTime"),
)
DELAYED_LIST = {"type": "array", "maxItems": 100, "items": DELAYED}
LIMIT = {"type": "integer", "minimum": 1, "maximum": 100, "description": "25 if not given."}


def dapr_paths() -> dict[str, Any]:
    return {
        "/v1.0/publish/{pubsub}/{topic}": {"post": _publish("Post"), "put": _publish("Put")},
        "/v1.0/publish/bulk/{pubsub}/{topic}": {"post": _bulk("Post"), "put": _bulk("Put")},
        "/v1.0/jobs/{name}": {"post": _schedule(), "get": _job(), "delete": _delete()},
        "/v1.0/delayed/{listing}": {"get": _delayed()},
        "/v1.0/delayed/{listing}/take": {"post": _take()},
        "/v1.0/healthz/outbound": {"get": _health()},
        "/v1.0/metadata": {"get": _metadata()},
    }


def _publish(method: str) -> dict[str, Any]:
    return DOOR.operation(
        f"daprPublish{method}",
        "Publish an event, now or for later",
        STORED,
        body={"application/json": {"schema": {}}, "application/octet-stream": {"schema": {}}},
        parameters=[*TOPIC, *WISHES, *APP],
        more={403: FORBIDDEN, 404: NOT_FOUND},
    )


def _bulk(method: str) -> dict[str, Any]:
    partly = json_answer("Some were not stored, these; or none, as an error says.", {"anyOf": [FAILED, ERROR]})
    return DOOR.operation(
        f"daprPublishBulk{method}",
        "Publish many events; /v1.0-alpha1 is the same",
        {**STORED, "500": partly},
        body=json_body({"type": "array", "items": ENTRY}),
        parameters=[*TOPIC, *WISHES, *APP],
        more={400: "`ERR_PUBSUB_EVENTS_SER`: an entryId is missing or repeated.", 403: FORBIDDEN, 404: NOT_FOUND},
    )


def _schedule() -> dict[str, Any]:
    scheduled = {"204": {"description": "Scheduled: committed to the database."}}
    return DOOR.operation(
        "daprScheduleJob",
        "Schedule a job",
        scheduled,
        body=json_body(JOB),
        parameters=[NAME, *APP],
        more={409: "There is a job with this name; overwrite replaces it."},
    )


def _job() -> dict[str, Any]:
    shown = json_answer("As it was asked for.", object_of({"name": TEXT}, "name"))
    return DOOR.operation("daprGetJob", "A job", {"200": shown}, parameters=[NAME, *APP], more={404: NO_JOB})


def _delete() -> dict[str, Any]:
    gone = {"204": {"description": "It will not run."}}
    return DOOR.operation("daprDeleteJob", "Delete a job", gone, parameters=[NAME, *APP], more={404: NO_JOB})


def _delayed() -> dict[str, Any]:
    found = object_of({"result": DELAYED_LIST, "pages": object_of({"next": TEXT})}, "result", "pages")
    asked = [
        {"name": "limit", "in": "query", "schema": LIMIT},
        {"name": "page", "in": "query", "schema": TEXT, "description": "A cursor from `pages` of an earlier answer."},
    ]
    return DOOR.operation(
        "daprListDelayed",
        "What an application has delayed, the soonest first",
        {"200": json_answer("A page.", found)},
        parameters=[LISTING, *asked, *APP],
        more={404: "A listing is named otherwise."},
    )


def _take() -> dict[str, Any]:
    taken = json_answer("These are yours, and are not sent.", object_of({"result": DELAYED_LIST}, "result"))
    return DOOR.operation(
        "daprTakeDelayed",
        "Take delayed messages over, for good",
        {"200": taken},
        body=json_body(object_of({"limit": LIMIT})),
        parameters=[LISTING, *APP],
        more={404: "A listing is named otherwise."},
    )


def _health() -> dict[str, Any]:
    well = {"204": {"description": "Well: messages can be stored."}}
    made = DOOR.operation("daprHealth", "Whether messages can be stored", well)
    return {**made, "security": [], "responses": {**made["responses"], "500": json_answer("Not now.", ERROR)}}


def _metadata() -> dict[str, Any]:
    component = object_of({"name": TEXT, "type": TEXT, "version": TEXT, "capabilities": _list(TEXT)}, "name", "type")
    about = object_of({"id": TEXT, "runtimeVersion": TEXT, "components": _list(component)}, "id", "components")
    return DOOR.operation("daprMetadata", "What is there", {"200": json_answer("This.", about)}, parameters=APP)


def _list(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": schema}
