"""The OpenAPI document tells the whole truth: every refusal and header of each operation, and what opens it."""

from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from broker_project.api.problems import CONTENT_TYPE

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
OF_MESSAGE = {410: "The message was pruned; `lake` says where its history is: table, path, rowId."}

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
    OpenApiParameter("If-Match", str, OpenApiParameter.HEADER, description="The ETag you know; `*`: any."),
]
_ONLY_NEW = OpenApiParameter(
    "If-None-Match",
    str,
    OpenApiParameter.HEADER,
    description="`*`: create only.",
)
CONDITIONAL_DELETE: dict[str, Any] = {
    "parameters": _CONDITION,
    "responses": {204: OpenApiResponse(description="Deleted.")},
}


def conditional_put(shape: Any) -> dict[str, Any]:
    responses = {
        200: OpenApiResponse(shape, description="Changed."),
        201: OpenApiResponse(shape, description="Created."),
    }
    return {"parameters": [*_CONDITION, _ONLY_NEW], "responses": responses}


def creation(shape: Any) -> dict[str, Any]:
    """Of what must not be there yet."""
    responses = {
        201: OpenApiResponse(shape, description="Created; Location names it."),
        (409, CONTENT_TYPE): OpenApiResponse({"$ref": "#/components/schemas/Problem"}, description="It is there."),
        (415, CONTENT_TYPE): OpenApiResponse(
            {"$ref": "#/components/schemas/Problem"}, description="Send JSON or a form."
        ),
    }
    return {"responses": responses}


HEADERS = {
    "200": ("X-Request-ID",),
    "201": ("X-Request-ID",),
    "405": ("X-Request-ID", "Allow"),
    "429": ("X-Request-ID", "Retry-After"),
    "503": ("X-Request-ID", "Retry-After"),
}


class ProblemAwareSchema(AutoSchema):
    """Adds to each operation the problems it may answer with, its headers, and the tokens that open it.

    A permission class names such tokens in `opened_by`, or in `opened_by_all` if it wants them all.
    """

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        more = {"PUT": ON_PUT, "DELETE": ON_DELETE}.get(self.method, {}) if self._is_conditional else {}
        of_message = OF_MESSAGE if "{message_id}" in self.path else {}
        for status, description in {**ALWAYS, **more, **of_message}.items():
            operation["responses"].setdefault(str(status), problem_response(description))
        operation["summary"] = operation.get("description", "").partition(".")[0]
        self._describe_headers(operation["responses"])
        self._describe_tokens(operation)
        return operation

    @property
    def _is_conditional(self) -> bool:
        """Whether what the view shows has a state that an update must know."""
        return self.path.endswith("}") and hasattr(getattr(self.view, "model", None), "etag")

    def _describe_headers(self, responses: dict[str, Any]) -> None:
        state = ("ETag", "Last-Modified") if self._is_conditional else ()
        for status, response in responses.items():
            names = (*HEADERS.get(status, ("X-Request-ID",)), *(state if status in ("200", "201") else ()))
            response["headers"] = {name: {"schema": {"type": "string"}} for name in names}

    def _describe_tokens(self, operation: dict[str, Any]) -> None:
        if self.method == "GET":
            tokens = {name for one in self.view.permission_classes for name in getattr(one, "opened_by", ())}
            ways: list[dict[str, list[str]]] = [{name: []} for name in sorted(tokens)]
            together = (getattr(one, "opened_by_all", ()) for one in self.view.permission_classes)
            ways += [{name: [] for name in names} for names in together if names]
            operation["security"] = [*operation.get("security", []), *ways]


def problem_response(description: str) -> dict[str, Any]:
    content = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {"description": description, "content": content}
