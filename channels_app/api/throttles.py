"""Limits on the management API, shared by all web processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from broker_project.api.token_bucket import shared_bucket

if TYPE_CHECKING:
    # DRF imports this module while it is itself being imported.
    from rest_framework.views import APIView


class ManagementThrottle(BaseThrottle):
    """So many requests a second for each API key, staff member or address."""

    _wait = 0.0

    def allow_request(self, request: Request, view: APIView) -> bool:
        self._wait = shared_bucket().take(
            f"management:{_caller(request)}",
            per_second=settings.MANAGEMENT_RATE_PER_SECOND,
            burst=settings.MANAGEMENT_BURST,
        )
        return self._wait == 0

    def wait(self) -> float:
        return self._wait


def refuse(request: Request, error: Exception) -> Exception:
    """The refusal of a wrong credential, or 429 for an address that has guessed too often."""
    rate = settings.REFUSALS_PER_MINUTE
    wait = shared_bucket().take(f"refused:{_address(request)}", per_second=rate / 60, burst=max(1, int(rate)))
    return Throttled(wait=wait) if wait else error


def _caller(request: Request) -> str:
    holder: Any = request.auth
    if holder is not None:
        return f"key:{holder.key_id}"
    return f"user:{request.user.pk}" if request.user.is_authenticated else f"address:{_address(request)}"


def _address(request: Request) -> str:
    return str(request.META.get("REMOTE_ADDR", ""))
