"""Finishes the OpenAPI document: what spectacular cannot see from the views."""

from typing import Any

from broker_project.api.schema import ALWAYS, problem_response
from broker_project.api.schema_acks import ack_paths
from broker_project.api.schema_dapr import TOKEN as DAPR_TOKEN
from broker_project.api.schema_dapr import dapr_paths
from broker_project.api.schema_door import ID, TEXT, door_paths
from broker_project.api.schema_pull import pull_paths
from broker_project.api.schema_querator import querator_paths
from broker_project.api.schema_queue import queue_paths

PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string", "description": "Stable; match on this."},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["field", "code", "detail"],
                "properties": {name: {"type": "string"} for name in ("field", "code", "detail")},
            },
        },
    },
}

TOKENS = {
    name: {"type": "apiKey", "in": "header", "name": header}
    for name, header in (("channelToken", "X-Broker-Channel-Token"), ("consumerToken", "X-Broker-Consumer-Token"))
}
CHECK = {"enum": ["ok", "failing"]}
CHECKS = {"type": "object", "additionalProperties": CHECK}
STRICT = {"name": "strict", "in": "query", "schema": TEXT, "description": "503 unless every check is ok."}


# What the browsable page fills in: enough to try, and nothing odd.
EXAMPLES = {
    "putProducer": {"name": "The shop"},
    "putChannel": {"name": "Orders", "retryPolicy": {"retries": 5}},
    "putConsumer": {"name": "Billing", "callbackUrl": "https://billing.example.com/hook"},
}


def finish(result: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
    """A spectacular hook, called with the whole document."""
    result["components"]["schemas"]["Problem"] = PROBLEM
    result["components"]["securitySchemes"] |= {**TOKENS, **DAPR_TOKEN}
    _close(result["components"]["schemas"])
    for operations in result["paths"].values():
        for operation in operations.values():
            _describe_ids(operation)
    for operation_id, example in EXAMPLES.items():
        _find(result, operation_id)["requestBody"]["content"]["application/json"]["example"] = example
    for path, operations in _frame_routes().items():
        # Some addresses are Django's too, by other methods.
        result["paths"].setdefault(path, {}).update(operations)
    return result


def _find(result: dict[str, Any], operation_id: str) -> dict[str, Any]:
    operations = (operation for path in result["paths"].values() for operation in path.values())
    return next(operation for operation in operations if operation["operationId"] == operation_id)


def _close(schemas: dict[str, Any]) -> None:
    """A name nobody knows is refused: what is sent holds these names and no others."""
    for name, schema in schemas.items():
        if name.endswith("InRequest"):
            schema["additionalProperties"] = False


def _describe_ids(operation: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "path":
            parameter["schema"] = ID


def _frame_routes() -> dict[str, Any]:
    """What the frame answers before Django."""
    status = {"name": TEXT, "version": TEXT, "startedAt": TEXT, "uptimeSeconds": {"type": "integer"}}
    ready = _probe(
        "getReadiness", "What works. 503 when messages cannot be accepted.", {"status": TEXT, "checks": CHECKS}, 503
    )
    ready["get"]["parameters"] = [STRICT]
    return {
        **door_paths(),
        **ack_paths(),
        **pull_paths(),
        **dapr_paths(),
        **querator_paths(),
        **queue_paths(),
        "/_status": _probe("getStatus", "What this is, and since when it runs.", status),
        "/healthz": _probe("getHealth", "The process is alive.", {"status": TEXT}),
        "/readyz": ready,
        "/metrics": {"get": _metrics()},
    }


def _probe(operation_id: str, summary: str, properties: dict[str, Any], *others: int) -> dict[str, Any]:
    schema = {"type": "object", "required": list(properties), "properties": properties}
    answer = {"description": summary, "content": {"application/json": {"schema": schema}}}
    refusals = {str(status): problem_response(ALWAYS[status]) for status in (405, 413, 414, 431)}
    responses = {"200": answer, **{str(status): answer for status in others}, **refusals}
    operation = {"operationId": operation_id, "summary": summary, "tags": ["operations"], "security": []}
    return {"get": {**operation, "responses": responses}}


def _metrics() -> dict[str, Any]:
    """Text, in the format that Accept asks for."""
    formats = {name: {"schema": TEXT} for name in ("text/plain", "application/openmetrics-text")}
    refusals = {str(status): problem_response(ALWAYS[status]) for status in (401, 405, 413, 414, 431, 503)}
    return {
        "operationId": "getMetrics",
        "summary": "Metrics for Prometheus, of all processes together",
        "tags": ["operations"],
        "security": [{"apiKey": []}],
        "responses": {"200": {"description": "See docs/metrics.md.", "content": formats}, **refusals},
    }
