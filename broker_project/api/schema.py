"""The OpenAPI document tells the whole truth: every refusal an operation can give, and the frame's own routes."""

from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from broker_project.api.problems import CONTENT_TYPE

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

ALWAYS = {
    400: "Something in the request is not valid.",
    401: "No credential, or an unknown one.",
    403: "The credential does not open this.",
    404: "There is no such thing.",
    405: "This address does not know that method.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    414: "The path and query are too long.",
    429: "Too many requests; see Retry-After.",
    431: "The headers are too large.",
    503: "The database does not answer; see Retry-After.",
}
ON_PUT = {412: "It has changed meanwhile.", 415: "Send JSON or a form."}
ON_DELETE = {412: "It has changed meanwhile."}

PAGED = [
    OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": 100}, description="25 if not given."),
    OpenApiParameter("page", str, description="A cursor from `pages` of an earlier answer."),
]
_CONDITION = [
    OpenApiParameter(
        "If-Unmodified-Since",
        str,
        OpenApiParameter.HEADER,
        description="The Last-Modified you know. This or If-Match is needed if it exists.",
    ),
    OpenApiParameter("If-Match", str, OpenApiParameter.HEADER, description="The ETag you know."),
]
CONDITIONAL_DELETE: dict[str, Any] = {
    "parameters": _CONDITION,
    "responses": {204: OpenApiResponse(description="Deleted.")},
}


def conditional_put(shape: Any) -> dict[str, Any]:
    responses = {
        200: OpenApiResponse(shape, description="Changed."),
        201: OpenApiResponse(shape, description="Created."),
    }
    return {"parameters": _CONDITION, "responses": responses}


class ProblemAwareSchema(AutoSchema):
    """Adds to each operation the problems it may answer with."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        more = {"PUT": ON_PUT, "DELETE": ON_DELETE}.get(self.method, {})
        for status, description in {**ALWAYS, **more}.items():
            operation["responses"].setdefault(str(status), problem_response(description))
        return operation


def problem_response(description: str) -> dict[str, Any]:
    content = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {"description": description, "content": content}


def add_frame_routes(result: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
    """A spectacular hook: what is answered before Django is not seen by it."""
    schemas = result["components"]["schemas"]
    schemas["Problem"] = PROBLEM
    for name, schema in schemas.items():
        if name.endswith("InRequest"):
            schema["additionalProperties"] = False
    for operations in result["paths"].values():
        for operation in operations.values():
            _describe_ids(operation)
    result["paths"] |= {
        "/_status": _probe("getStatus", "What this is, and since when it runs.", ("name", "version", "startedAt")),
        "/healthz": _probe("getHealth", "The process is alive.", ("status",)),
        "/readyz": _probe("getReadiness", "What works. 503 when messages cannot be accepted.", ("status",), 503),
    }
    return result


def _describe_ids(operation: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "path":
            parameter["schema"] = {"type": "string", "pattern": "^[A-Za-z0-9._~-]{1,255}$"}


def _probe(operation_id: str, summary: str, fields: tuple[str, ...], *others: int) -> dict[str, Any]:
    schema = {"type": "object", "required": list(fields), "properties": {name: {"type": "string"} for name in fields}}
    answer = {"description": summary, "content": {"application/json": {"schema": schema}}}
    frame = {str(status): problem_response(ALWAYS[status]) for status in (405, 413, 414, 431)}
    responses = {"200": answer, **{str(status): answer for status in others}, **frame}
    return {
        "get": {
            "operationId": operation_id,
            "summary": summary,
            "tags": ["operations"],
            "security": [],
            "responses": responses,
        }
    }
