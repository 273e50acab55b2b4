"""The doors of other systems in the OpenAPI document: each has its tag, its key, and its own shape of a refusal."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from broker_project.api.schema import ALWAYS, problem_response
from broker_project.api.schema_acks import json_answer

# What the parser refuses before there is an address.
_BY_PARSER = (408, 431)
_BY_FRAME = (405, 413, 414)


@dataclass(frozen=True)
class Door:
    """`refusal` is the schema of what it says when it says no, `refusals` the statuses that each address may have."""

    tag: str
    security: list[dict[str, list[str]]]
    refusal: dict[str, Any]
    refusals: dict[int, str]

    def operation(
        self,
        operation_id: str,
        summary: str,
        answers: dict[str, Any],
        *,
        body: dict[str, Any] | None = None,
        parameters: Sequence[dict[str, Any]] = (),
        more: dict[int, str] | None = None,
    ) -> dict[str, Any]:
        """`body` is the content by media type; `more` are refusals of this address alone."""
        made = {
            "operationId": operation_id,
            "summary": summary,
            "tags": [self.tag],
            "security": self.security,
            "parameters": list(parameters),
            "responses": {**self._refused({**self.refusals, **(more or {})}), **answers},
        }
        return {**made, "requestBody": {"required": True, "content": body}} if body else made

    def _refused(self, texts: dict[int, str]) -> dict[str, Any]:
        by_frame = {status: ALWAYS[status] for status in _BY_FRAME}
        own = {str(status): json_answer(text, self.refusal) for status, text in {**by_frame, **texts}.items()}
        return {**own, **{str(status): problem_response(ALWAYS[status]) for status in _BY_PARSER}}


def json_body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def path_parameter(name: str, schema: dict[str, Any], description: str = "") -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": schema, "description": description}
