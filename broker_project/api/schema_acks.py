"""The doors in the OpenAPI document: what the frame answers to consumers that acknowledge."""

from typing import Any

from broker_project.api.schema import ALWAYS, problem_response
from broker_project.api.schema_door import CHANNEL, ID, TEXT

CONSUMER = {"name": "consumer_id", "in": "path", "required": True, "schema": ID}
JOB = {"name": "job_id", "in": "path", "required": True, "schema": ID}
TOKENS = [
    {"name": name, "in": "header", "required": True, "schema": TEXT}
    for name in ("X-Broker-Channel-Token", "X-Broker-Consumer-Token")
]
ADDRESS = "/channel/{channel_id}/consumer/{consumer_id}"

NAME = {"type": "string", "minLength": 1, "maxLength": 255}
ATTEMPT = {"type": ["integer", "null"], "minimum": 1, "maximum": 2**31 - 1}
MOMENT = {"type": ["string", "null"], "format": "date-time"}
SECONDS = {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 3600}
DEVICE = {**NAME, "type": ["string", "null"]}
ERROR = {"type": ["string", "null"], "description": "Kept to 1 KiB."}
RETRY_AT = {**MOMENT, "description": "Wait until then, no longer than the job lives; a time that is past says nothing."}
RESULT = {"enum": ["applied", "duplicate", "stale", "unknown"]}

REFUSALS = {
    **ALWAYS,
    400: "Something in the request is not valid; `errors` says what. Nothing was changed.",
    409: "`not_leasing`: it polls by index. `not_acking`: it acknowledges by its answer.",
    415: "Send JSON.",
    503: "`door_full` or `storage_away`: nothing was changed. `outcome_unknown`: send it again, which harms nothing.",
}


def object_of(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": properties}


ACK = {
    **object_of(
        {
            "jobId": NAME,
            "attempt": {**ATTEMPT, "description": "The current one if not given."},
            "status": {"enum": ["RUNNING", "COMPLETE", "FAILED"]},
            "deviceId": DEVICE,
            "timestamp": {**MOMENT, "description": "By the device's clock; kept beside ours."},
            "error": ERROR,
            "retryAt": RETRY_AT,
        },
        "jobId",
        "status",
    ),
    "additionalProperties": False,
}
EXTENSION = {
    **object_of(
        {"jobId": NAME, "attempt": {**ATTEMPT, "type": "integer"}, "leaseSeconds": SECONDS}, "jobId", "attempt"
    ),
    "additionalProperties": False,
}
NEXT_STATE = {
    **object_of(
        {
            "nextState": {"enum": ["INFLIGHT", "DELIVERED", "DEAD", "QUEUED"]},
            "incrementalTimeout": {**SECONDS, "description": "The lease ends so many seconds from now."},
            "attempt": ATTEMPT,
            "error": ERROR,
            "retryAt": RETRY_AT,
            "deviceId": DEVICE,
        },
        "nextState",
    ),
    "additionalProperties": False,
}
STATE = object_of(
    {"attempt": {"type": "integer"}, "leaseUntil": MOMENT, "deviceId": DEVICE}, "attempt", "leaseUntil", "deviceId"
)


def ack_paths() -> dict[str, Any]:
    return {
        f"{ADDRESS}/acks": {"post": _acks()},
        f"{ADDRESS}/extend": {"post": _extend()},
        f"{ADDRESS}/job/{{job_id}}": {"post": _job_state()},
    }


def _acks() -> dict[str, Any]:
    item = object_of({"jobId": TEXT, "result": RESULT}, "jobId", "result")
    summary = "Say of many jobs that they are running, complete or failed"
    return operation_of("acknowledge", summary, _many(ACK), _results(item), REFUSALS)


def _extend() -> dict[str, Any]:
    item = object_of({"jobId": TEXT, "result": RESULT, "leaseUntil": MOMENT}, "jobId", "result")
    return operation_of("extendLeases", "Ask for more time: a heartbeat", _many(EXTENSION), _results(item), REFUSALS)


def _job_state() -> dict[str, Any]:
    conflict = "`stale_attempt`, `job_not_ready`, `in_flight_full`, `not_leasing` or `not_acking`."
    done = {"202": json_answer("Done, or so before.", STATE)}
    made = operation_of("setJobState", "Move one job to its next state", NEXT_STATE, done, {**REFUSALS, 409: conflict})
    return {**made, "parameters": [*made["parameters"], JOB]}


def operation_of(
    operation_id: str, summary: str, body: dict[str, Any], answers: dict[str, Any], refusals: dict[int, str]
) -> dict[str, Any]:
    content = {"application/json": {"schema": body}}
    return {
        **reading(operation_id, summary, answers, refusals),
        "requestBody": {"required": True, "content": content},
    }


def reading(operation_id: str, summary: str, answers: dict[str, Any], refusals: dict[int, str]) -> dict[str, Any]:
    """Without a body."""
    return {
        "operationId": operation_id,
        "summary": summary,
        "tags": ["jobs"],
        "security": [],
        "parameters": [CHANNEL, CONSUMER, *TOKENS],
        "responses": {**answers, **{str(status): problem_response(text) for status, text in refusals.items()}},
    }


def _many(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "description": "Up to 10,000; more is 413.", "items": item}


def _results(item: dict[str, Any]) -> dict[str, Any]:
    listed = object_of({"result": {"type": "array", "items": item}}, "result")
    return {"200": json_answer("A result for each, in order.", listed)}


def json_answer(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}
