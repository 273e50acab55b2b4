"""Who may act on a message for later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework.request import Request

from channels_app.api.permissions import OpensChannel
from channels_app.api.throttles import refuse
from channels_app.api.who import MAX_WHO, who
from channels_app.errors import WrongToken
from channels_app.registry import Entry, registry
from scheduling_app.api.admission import UnknownProducer
from scheduling_app.errors import AnotherProducersMessage
from scheduling_app.models import ScheduledMessage

if TYPE_CHECKING:
    from rest_framework.views import APIView


class ActsOnScheduled(OpensChannel):
    """A manager; for reads the channel's token; for acts that and the tokens of the producer who scheduled it."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if super().has_permission(request, view):
            return True
        token = request.headers.get("X-Broker-Channel-Token")
        if token is None or "X-Broker-Producer-ID" not in request.headers:
            return False
        self._opens(request, view, token)
        request.producer = _producer(request)  # type: ignore[attr-defined]
        return True

    def has_object_permission(self, request: Request, view: APIView, message: ScheduledMessage) -> bool:
        producer: Entry | None = getattr(request, "producer", None)
        if producer is not None and producer.row_id != message.producer_id:
            raise AnotherProducersMessage
        return True


def _producer(request: Request) -> Entry:
    producer = registry().producer(request.headers["X-Broker-Producer-ID"])
    if producer is None:
        raise refuse(request, UnknownProducer())
    token = request.headers.get("X-Broker-Producer-Token", "")
    if not producer.opened_by(token):
        raise refuse(request, WrongToken("" if token else "Missing: X-Broker-Producer-Token."))
    return producer


def who_acts(request: Request) -> str:
    if hasattr(request, "producer"):
        return f"producer {request.headers['X-Broker-Producer-ID']}"[:MAX_WHO]
    return who(request)
