"""The doors in the OpenAPI document: what the frame answers to those who broadcast."""

from typing import Any

from broker_project.api.schema import ALWAYS, problem_response
from broker_project.lib.patterns import PUBLIC_ID, whole

TEXT = {"type": "string"}
ID = {"type": "string", "pattern": whole(PUBLIC_ID)}
LOCATION = {"Location": {"schema": TEXT}}
PRIORITY = {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1}

CHANNEL = {"name": "channel_id", "in": "path", "required": True, "schema": ID}
NEEDED = ("X-Broker-Channel-Token", "X-Broker-Producer-ID", "X-Broker-Producer-Token")
OF_ONE = ("X-Broker-Message-ID", "X-Broker-Message-Priority", "X-Broker-Metadata-Headers", "X-Broker-Scheduled-For")
SCHEDULE_MODE = {
    "name": "X-Broker-Schedule-Mode",
    "in": "header",
    "schema": {"enum": ["replace"]},
    "description": "With X-Broker-Scheduled-For: a message that waits under this id is replaced.",
}
PARTIAL = {
    "name": "partial",
    "in": "query",
    "schema": {"enum": ["true", "false"]},
    "description": "`true`: store what can be stored, and answer 207 with a result for each item.",
}
REFUSALS = {
    **ALWAYS,
    429: "`producer_rate_limited`, `channel_rate_limited`, `backlog_full` or `throttled`; see Retry-After.",
    503: "`door_full` or `storage_away`: not stored. `outcome_unknown`: send it again with the same id.",
}

ITEM = {
    "type": "object",
    "additionalProperties": False,
    "description": "Either `payload` or `payloadBase64`. A payload that is not a string is sent as its JSON text.",
    "properties": {
        "payload": {},
        "payloadBase64": {"type": "string", "contentEncoding": "base64"},
        "base64": {"type": "string", "contentEncoding": "base64", "description": "The same as `payloadBase64`."},
        "messageId": ID,
        "contentType": {"type": "string", "minLength": 1, "maxLength": 255},
        "priority": PRIORITY,
        "headers": {"type": "object", "additionalProperties": TEXT},
        "scheduledFor": {"type": "string", "format": "date-time"},
    },
}
RESULT = {
    "type": "object",
    "required": ["status"],
    "properties": {
        "status": {"enum": [201, 400, 409, 412]},
        "location": TEXT,
        "field": TEXT,
        "code": TEXT,
        "detail": TEXT,
        "samePayload": {"type": "boolean"},
    },
}


def door_paths() -> dict[str, Any]:
    return {
        "/channel/{channel_id}/broadcast": {"post": _broadcast()},
        "/channel/{channel_id}/broadcast/batch": {"post": _batch()},
    }


def _broadcast() -> dict[str, Any]:
    """Raw bytes in, a Location out."""
    conflict = "This channel has a message with this id; Location names it, samePayload compares."
    soon = "The time in X-Broker-Scheduled-For is too near, or past."
    replaced = {"description": "The one that waited under this id was replaced.", "headers": LOCATION}
    stored = {"description": "Stored: committed to the database.", "headers": LOCATION}
    return {
        "operationId": "broadcast",
        "summary": "Broadcast a message to a channel",
        "tags": ["messages"],
        "security": [],
        "parameters": [CHANNEL, *_headers(NEEDED, required=True), *_headers(OF_ONE, required=False), SCHEDULE_MODE],
        "requestBody": {"required": True, "content": {"application/octet-stream": {"schema": {}}}},
        "responses": {"200": replaced, "201": stored, **_problems({**REFUSALS, 409: conflict, 412: soon})},
    }


def _batch() -> dict[str, Any]:
    """Many items in, as many Locations or results out."""
    refusals = {
        **REFUSALS,
        400: "Some items are not valid; `errors` names them by place. Nothing was stored.",
        409: "Some ids were used before, or twice here; `errors` names them by place. Nothing was stored.",
        415: "Send a JSON array or NDJSON.",
    }
    return {
        "operationId": "broadcastBatch",
        "summary": "Broadcast many messages to a channel, all or nothing",
        "tags": ["messages"],
        "security": [],
        "parameters": [CHANNEL, *_headers(NEEDED, required=True), PARTIAL],
        "requestBody": {"required": True, "content": _batch_bodies()},
        "responses": {
            "201": _results("Stored, all of them: the Location of each.", TEXT),
            "207": _results("With `partial=true`: a result for each item, in order.", RESULT),
            **_problems(refusals),
        },
    }


def _batch_bodies() -> dict[str, Any]:
    items = {"type": "array", "minItems": 1, "items": ITEM}
    example = [{"payload": {"order": 1}, "messageId": "order-1"}, {"payload": "text", "contentType": "text/plain"}]
    return {
        "application/json": {"schema": items, "example": example},
        "application/x-ndjson": {"schema": {"type": "string", "description": "An item on each line."}},
    }


def _headers(names: tuple[str, ...], *, required: bool) -> list[dict[str, Any]]:
    return [{"name": name, "in": "header", "required": required, "schema": TEXT} for name in names]


def _results(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    body = {
        "type": "object",
        "required": ["result"],
        "properties": {"result": {"type": "array", "items": schema}},
    }
    return {"description": description, "content": {"application/json": {"schema": body}}}


def _problems(refusals: dict[int, str]) -> dict[str, Any]:
    return {str(status): problem_response(text) for status, text in refusals.items()}
