"""Who is asking: an API key, or a staff member in the browser."""

import time
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from channels_app.api.throttles import refuse
from channels_app.models import ApiKey
from channels_app.registry import registry

REMEMBER_USE_SECONDS = 60.0


@dataclass(frozen=True)
class KeyHolder:
    """The caller behind a valid API key."""

    key_id: int


class ApiKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer <API key>`."""

    _used_at: dict[int, float] = {}

    def authenticate(self, request: Request) -> tuple[AnonymousUser, KeyHolder] | None:
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        key_id = registry().api_key(text.strip())
        if key_id is None:
            raise refuse(request, AuthenticationFailed("This API key is not valid."))
        self.mark_used(key_id)
        return AnonymousUser(), KeyHolder(key_id)

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"

    def mark_used(self, key_id: int) -> None:
        """Once a minute per process: a write per request would make every read a write."""
        if not self.is_use_noted(key_id):
            self._used_at[key_id] = time.monotonic()
            ApiKey.objects.filter(pk=key_id).mark_used()

    @classmethod
    def is_use_noted(cls, key_id: int) -> bool:
        return time.monotonic() - cls._used_at.get(key_id, float("-inf")) <= REMEMBER_USE_SECONDS


class StaffSessionAuthentication(SessionAuthentication):
    """A staff member's browser session, with its CSRF token on every write."""


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = ApiKeyAuthentication
    name = "apiKey"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}


class StaffSessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = StaffSessionAuthentication
    name = "staffSession"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}
