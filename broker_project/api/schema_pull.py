"""The doors in the OpenAPI document: what the frame answers to consumers that ask, by lease or by index."""

from typing import Any

from broker_project.api.schema import ALWAYS
from broker_project.api.schema_acks import ADDRESS, DEVICE, SECONDS, json_answer, object_of, operation_of, reading
from broker_project.api.schema_door import PRIORITY, TEXT

MIB = 1024 * 1024
TIME = {"type": "string", "format": "date-time"}
INDEX = {"type": "integer", "minimum": 0, "exclusiveMaximum": 10**18}
COUNT = {"type": "integer", "minimum": 0}
INDEXES = {
    "ackedIndex": {**COUNT, "description": "Everything up to it is acknowledged."},
    "sentIndex": {**COUNT, "description": "Everything up to it was handed out."},
}
REASONS = ["disabled", "paused", "beyond_window", "already_sent", "caught_up", "unacked_cap_reached"]

MESSAGE = {
    **object_of(
        {
            "messageId": TEXT,
            "payload": TEXT,
            "payloadBase64": {"type": "string", "contentEncoding": "base64"},
            "contentType": TEXT,
            "headers": {"type": "object", "additionalProperties": TEXT},
        },
        *("messageId", "contentType", "headers"),
    ),
    "description": "`payload` if it is UTF-8, else `payloadBase64`.",
    "oneOf": [{"required": ["payload"]}, {"required": ["payloadBase64"]}],
    "additionalProperties": False,
}


def _whole(properties: dict[str, Any]) -> dict[str, Any]:
    """All of these, and nothing else."""
    return {**object_of(properties, *properties), "additionalProperties": False}


LEASED = _whole(
    {
        "id": TEXT,
        "priority": PRIORITY,
        "attempt": {"type": "integer", "minimum": 1},
        "leaseUntil": {**TIME, "description": "Until then it is yours."},
        "publishedAt": TIME,
        "message": MESSAGE,
    }
)
POLLED = _whole(
    {
        "index": {"type": "integer", "minimum": 1},
        "id": {"type": ["string", "null"], "description": "Its job; null if a seek passed over it before it had one."},
        "attempt": COUNT,
        "priority": PRIORITY,
        "message": MESSAGE,
        "publishedAt": TIME,
    }
)
LEASE = {
    **object_of(
        {
            "limit": {"type": ["integer", "null"], "minimum": 1, "maximum": 1_000, "description": "25 if not given."},
            "leaseSeconds": {**SECONDS, "description": "The consumer's ackTimeoutSeconds if not given."},
            "waitSeconds": {
                "type": ["number", "null"],
                "minimum": 0,
                "maximum": 30,
                "description": "How long to wait if there is nothing: 0 if not given.",
            },
            "maxBytes": {
                "type": ["integer", "null"],
                "minimum": 1,
                "maximum": 8 * MIB,
                "description": "Of payloads together: 8 MiB if not given. One job comes whatever its size.",
            },
            "deviceId": {**DEVICE, "description": "Who asks; shown with the job."},
        }
    ),
    "additionalProperties": False,
}

REFUSALS = {
    **ALWAYS,
    400: "Something in the request is not valid. Nothing was changed.",
    412: "`not_pull`: it is pushed to, and cannot ask.",
    503: "`storage_away`: nothing was changed.",
}
OF_LEASES = {**REFUSALS, 409: "`not_leasing`: it polls by index.", 415: "Send JSON."}
OF_INDEX = {**REFUSALS, 409: "`not_indexed`: it takes leases."}


def pull_paths() -> dict[str, Any]:
    return {
        f"{ADDRESS}/lease": {"post": _lease()},
        f"{ADDRESS}/poll": {"get": _poll()},
        f"{ADDRESS}/message-at/{{index}}": {"get": _message_at()},
        f"{ADDRESS}/ack": {"post": _ack()},
        f"{ADDRESS}/seek": {"post": _seek()},
    }


def _lease() -> dict[str, Any]:
    found = _whole({"result": {"type": "array", "maxItems": 1_000, "items": LEASED}})
    answers = {"200": json_answer("The best ready jobs; none if nothing came in time.", found)}
    made = operation_of("leaseJobs", "Take ready jobs for a while, or wait for some", LEASE, answers, OF_LEASES)
    return {**made, "requestBody": {**made["requestBody"], "required": False}}


def _poll() -> dict[str, Any]:
    found = _whole(
        {
            "result": {"type": "array", "maxItems": 1_000, "items": POLLED},
            **INDEXES,
            "lastIndex": {**COUNT, "description": "Of the channel."},
            "reason": {"enum": [*REASONS, None], "description": "Why there is nothing; else null."},
        }
    )
    answers = {"200": json_answer("The next messages, in order.", found)}
    limit = {"type": "integer", "minimum": 1, "maximum": 1_000}
    asked = [
        _parameter("from", "query", INDEX, "Those after it; where the last poll ended if not given."),
        _parameter("limit", "query", limit, "25 if not given."),
    ]
    made = reading("pollMessages", "Read on, by index", answers, OF_INDEX)
    return {**made, "parameters": [*made["parameters"], *asked]}


def _message_at() -> dict[str, Any]:
    refusals = {
        **OF_INDEX,
        404: "There is no such channel, consumer or index.",
        409: "`not_sent_yet`: poll for it. `not_indexed`: it takes leases.",
        410: "`expunged`: its payload was taken out.",
    }
    made = reading("getMessageAt", "One message again", {"200": json_answer("The message.", POLLED)}, refusals)
    index = {**_parameter("index", "path", INDEX, "At or below sentIndex."), "required": True}
    return {**made, "parameters": [*made["parameters"], index]}


def _ack() -> dict[str, Any]:
    said = _one_of(
        index={**INDEX, "description": "This message is done."},
        upTo={**INDEX, "description": "This one, and everything before it."},
    )
    done = _whole({**INDEXES, "result": {"enum": ["applied", "duplicate"]}})
    refusals = {**OF_INDEX, 409: "`ack_above_sent`: it was not handed out yet. `not_indexed`.", 415: "Send JSON."}
    return operation_of("ackIndex", "Acknowledge by index", said, {"200": json_answer("Done.", done)}, refusals)


def _seek() -> dict[str, Any]:
    place = _one_of(
        index={**INDEX, "description": "Go on right after it; the channel's last index is the highest."},
        time={**TIME, "description": "Go on with the first message received at or after it."},
    )
    moved = {"200": json_answer("Both indexes are there.", _whole(INDEXES))}
    return operation_of("seekIndex", "Go back, or forward", place, moved, {**OF_INDEX, 415: "Send JSON."})


def _one_of(**properties: dict[str, Any]) -> dict[str, Any]:
    return {**object_of(properties), "minProperties": 1, "maxProperties": 1, "additionalProperties": False}


def _parameter(name: str, place: str, schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": schema, "description": description}
