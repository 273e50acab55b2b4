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


def encode(status: int, code: str, detail: str, **more: object) -> bytes:
    """The document as bytes, for the frame, which has no Django to render it."""
    return json.dumps({**problem(status, code, detail), **more}).encode()


def page(request: HttpRequest, status: int, code: str, detail: str) -> HttpResponse:
    """A client gets a problem; a person in the admin gets a page."""
    if request.path.startswith("/admin/"):
        return HttpResponse(f"<h1>{HTTPStatus(status).phrase}</h1><p>{detail}</p>", status=status)
    return HttpResponse(encode(status, code, detail), status=status, content_type=CONTENT_TYPE)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return page(request, 400, "bad_request", "The request cannot be understood.")


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return page(request, 403, "permission_denied", "You may not do this.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return page(request, 404, "not_found", "There is nothing at this address.")


def server_error(request: HttpRequest) -> HttpResponse:
    """Reached by surprises only; the trace is in the log under the request id."""
    detail = "Something went wrong on our side. The log has it under this request id."
    return page(request, 500, "server_error", detail)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return page(request, 403, "csrf_failed", "The form's token is missing or old. Load the page again.")
