"""Errors as RFC 9457 problem documents: the document, and Django's own error pages as such documents."""

import json
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse

CONTENT_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = 2
FieldErrors = list[dict[str, str]]


def problem(status: int, code: str, detail: str, errors: FieldErrors | None = None) -> dict[str, Any]:
    """The document itself."""
    body: dict[str, Any] = {
        "type": f"urn:broker:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
    }
    return {**body, "errors": errors} if errors else body


def encode(status: int, code: str, detail: str) -> bytes:
    """The document as bytes, for the frame, which has no Django to render it."""
    return json.dumps(problem(status, code, detail)).encode()


def _plain(status: int, code: str, detail: str) -> HttpResponse:
    return HttpResponse(encode(status, code, detail), status=status, content_type=CONTENT_TYPE)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _plain(400, "bad_request", "The request cannot be understood.")


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _plain(403, "permission_denied", "You may not do this.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _plain(404, "not_found", "There is nothing at this address.")


def server_error(request: HttpRequest) -> HttpResponse:
    """Reached by surprises only; the trace is in the log under the request id."""
    return _plain(500, "server_error", "Something went wrong on our side. The log has it under this request id.")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _plain(403, "csrf_failed", "The form's token is missing or old. Load the page again.")
