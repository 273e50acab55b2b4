"""What a caller may see and do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from channels_app.api.throttles import refuse
from channels_app.errors import UnknownChannel, UnknownConsumer, WrongToken
from channels_app.registry import registry

if TYPE_CHECKING:
    # DRF imports this module while it is itself being imported.
    from rest_framework.views import APIView

ACTS = {"PUT": "change", "PATCH": "change", "POST": "change", "DELETE": "delete"}


class IsManager(BasePermission):
    """An API key may do everything; staff may read, and write what their permissions allow."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if request.auth is not None:
            return True
        if not (request.user.is_active and request.user.is_staff):
            return False
        act, model = ACTS.get(request.method or ""), getattr(view, "model", None)
        if act is None or model is None:
            return True
        return bool(request.user.has_perm(f"{model._meta.app_label}.{act}_{model._meta.model_name}"))


class OpensChannel(IsManager):
    """A manager, or for reads the channel's token."""

    opened_by: tuple[str, ...] = ("channelToken",)

    def has_permission(self, request: Request, view: APIView) -> bool:
        token = request.headers.get("X-Broker-Channel-Token")
        if token is None or request.method not in ("GET", "HEAD", "OPTIONS"):
            return super().has_permission(request, view)
        return super().has_permission(request, view) or self._opens(request, view, token)

    def _opens(self, request: Request, view: APIView, token: str) -> bool:
        if not holds_channel_token(view, token):
            raise refuse(request, WrongToken())
        return True


class OpensConsumer(OpensChannel):
    """A manager, or for reads the channel's token or the consumer's own."""

    opened_by = ("channelToken", "consumerToken")

    def has_permission(self, request: Request, view: APIView) -> bool:
        token = request.headers.get("X-Broker-Consumer-Token")
        if token is None or request.method not in ("GET", "HEAD", "OPTIONS"):
            return super().has_permission(request, view)
        if not holds_consumer_token(view, token):
            raise refuse(request, WrongToken())
        request.opened_by_consumer = True  # type: ignore[attr-defined]
        return True


class OpensJobs(IsManager):
    """A manager, or for reads the tokens of the channel and of the consumer, both."""

    opened_by_all: tuple[str, ...] = ("channelToken", "consumerToken")

    def has_permission(self, request: Request, view: APIView) -> bool:
        channel_token = request.headers.get("X-Broker-Channel-Token")
        consumer_token = request.headers.get("X-Broker-Consumer-Token")
        if super().has_permission(request, view):
            return True
        if channel_token is None or consumer_token is None or request.method not in ("GET", "HEAD", "OPTIONS"):
            return False
        if not (holds_channel_token(view, channel_token) and holds_consumer_token(view, consumer_token)):
            raise refuse(request, WrongToken())
        return True


def holds_channel_token(view: APIView, token: str) -> bool:
    channel = registry().channel(view.kwargs["channel_id"])
    if channel is None:
        raise UnknownChannel
    return channel.opened_by(token)


def holds_consumer_token(view: APIView, token: str) -> bool:
    channel = registry().channel(view.kwargs["channel_id"])
    if channel is None:
        raise UnknownChannel
    consumer = registry().consumer(channel.row_id, view.kwargs["consumer_id"])
    if consumer is None:
        raise UnknownConsumer
    return consumer.opened_by(token)


def sees_secrets(request: Request) -> bool:
    """An API key, staff who may reveal tokens, or the consumer whose own token was found right."""
    user: Any = request.user
    if request.auth is not None or getattr(request, "opened_by_consumer", False):
        return True
    return bool(user.is_active and user.is_staff and user.has_perm("channels_app.reveal_token"))
