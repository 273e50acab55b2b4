"""Who may see dead letters, act on them, and clear them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from broker_project.lib.patterns import TOKEN
from channels_app.api.permissions import holds_consumer_token
from channels_app.api.throttles import refuse
from channels_app.api.who import MAX_WHO, who
from channels_app.errors import WrongToken

if TYPE_CHECKING:
    from rest_framework.views import APIView

VIEW, ACT, CLEAR = "dlq_app.view_deadletter", "dlq_app.act_on_deadletter", "dlq_app.clear_deadletter"


class OpensLetters(BasePermission):
    """An API key, or staff with the permission that the view `needs` for this method; to view, if it names none."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if request.auth is not None:
            return True
        needs: dict[str, str] = getattr(view, "needs", {})
        user = request.user
        return bool(user.is_active and user.is_staff and user.has_perm(needs.get(request.method or "", VIEW)))


class OpensOwnLetters(OpensLetters):
    """Those too who hold the consumer's own token, in its header or as `requeue` in the body; but not to clear."""

    opened_by: tuple[str, ...] = ("consumerToken",)

    def has_permission(self, request: Request, view: APIView) -> bool:
        if super().has_permission(request, view):
            return True
        token = None if request.method == "DELETE" else _token(request)
        if token is None:
            return False
        if not (TOKEN.fullmatch(token) and holds_consumer_token(view, token)):
            raise refuse(request, WrongToken())
        request.opened_by_consumer = True  # type: ignore[attr-defined]
        return True


def _token(request: Request) -> str | None:
    sent: Any = request.headers.get("X-Broker-Consumer-Token")
    if sent is None and request.method == "POST":
        data: Any = request.data
        sent = next((value for name, value in data.items() if name.lower() == "requeue"), None)
    return sent if isinstance(sent, str) else None


def who_acts(request: Request, channel_id: str, consumer_id: str) -> str:
    if getattr(request, "opened_by_consumer", False):
        return f"consumer {consumer_id} of {channel_id}"[:MAX_WHO]
    return who(request)
