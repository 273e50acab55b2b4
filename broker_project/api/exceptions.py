"""What a DRF view raises becomes a problem document."""

from collections.abc import Mapping
from typing import Any

import structlog
from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response

from broker_project.api.problems import CONTENT_TYPE, RETRY_AFTER_SECONDS, FieldErrors, problem
from broker_project.lib.errors import BrokerError

log = structlog.get_logger(__name__)


class StorageAway(BrokerError):
    """The database does not answer. Nothing was changed, or it cannot be told: read before you try again."""

    status = 503


def refusal_behind(error: Exception) -> BrokerError | None:
    """The refusal that an exception stands for; None for a surprise."""
    if isinstance(error, OperationalError):
        log.error("storage.away", error=type(error).__name__)
        return StorageAway()
    return error if isinstance(error, BrokerError) else None


def handle_exception(error: Exception, _context: Mapping[str, Any]) -> Response | None:
    """DRF's exception handler: every refusal becomes a problem, a surprise rises to `server_error`."""
    error = refusal_behind(error) or error
    if isinstance(error, BrokerError):
        answer = _respond(error.status, error.code, error.detail, error.errors, _retry_after(error.status))
        answer.data |= error.members
        return answer
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    if isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    if isinstance(error, exceptions.APIException):
        return _from_drf(error)
    return None


def _from_drf(error: exceptions.APIException) -> Response:
    headers = {}
    if auth_header := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = auth_header
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(max(1, round(wait)))
    if isinstance(error, exceptions.ValidationError):
        return _respond(400, "invalid", "Some fields are not valid.", field_errors(error.detail), headers)
    if isinstance(error, exceptions.NotAuthenticated):
        return _respond(401, "not_authenticated", "Send an API key: Authorization: Bearer <key>.", [], headers)
    code = getattr(error.detail, "code", None) or error.default_code
    return _respond(error.status_code, code, str(error.detail), [], headers)


def field_errors(detail: Any, path: str = "") -> FieldErrors:
    """DRF's nested errors as a flat list of field, code and detail."""
    if isinstance(detail, dict):
        return [item for key, inner in detail.items() for item in field_errors(inner, _join(path, str(key)))]
    if isinstance(detail, list):
        return [item for inner in detail for item in field_errors(inner, path)]
    return [{"field": path, "code": getattr(detail, "code", "invalid"), "detail": str(detail)}]


def _join(path: str, key: str) -> str:
    return path if key == "non_field_errors" else f"{path}.{key}".lstrip(".")


def _retry_after(status: int) -> dict[str, str]:
    return {"Retry-After": str(RETRY_AFTER_SECONDS)} if status == 503 else {}


def _respond(status: int, code: str, detail: str, errors: FieldErrors, headers: dict[str, str]) -> Response:
    return Response(problem(status, code, detail, errors), status=status, headers=headers, content_type=CONTENT_TYPE)
