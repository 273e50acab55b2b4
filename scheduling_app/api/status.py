"""How many messages a channel has in each state, now and for later."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from channels_app.api.permissions import OpensChannel
from channels_app.selectors import get_channel_or_past
from scheduling_app import selectors


class LinksOut(serializers.Serializer[Any]):
    messages = serializers.CharField()


class CountOut(serializers.Serializer[Any]):
    """Following the link finds as many."""

    count = serializers.IntegerField()
    links = LinksOut()


class CountsOut(serializers.Serializer[Any]):
    ACKNOWLEDGED = CountOut()
    DISPATCHED = CountOut()
    SCHEDULED = CountOut()
    SCHEDULED_DISPATCHED = CountOut()


class MessagesStatusOut(serializers.Serializer[Any]):
    counts = CountsOut()
    next_scheduled_message_at = serializers.DateTimeField(allow_null=True)


class MessagesStatusView(APIView):
    permission_classes = [OpensChannel]

    @extend_schema(operation_id="getMessagesStatus", responses=MessagesStatusOut, tags=["messages"])
    def get(self, request: Request, channel_id: str) -> Response:
        """How many messages are in each state, from counters, and when the next one for later is due."""
        status = selectors.messages_status(get_channel_or_past(channel_id))
        messages, later = f"/channel/{channel_id}/messages", f"/channel/{channel_id}/scheduled-messages"
        counts = {
            "ACKNOWLEDGED": _count(status.acknowledged, f"{messages}?status=100"),
            "DISPATCHED": _count(status.dispatched, f"{messages}?status=101"),
            "SCHEDULED": _count(status.for_later.scheduled, f"{later}?status=100"),
            "SCHEDULED_DISPATCHED": _count(status.for_later.dispatched, f"{later}?status=101"),
        }
        shown = {"counts": counts, "next_scheduled_message_at": status.for_later.next_at}
        return Response(MessagesStatusOut(shown).data)


def _count(count: int, link: str) -> dict[str, Any]:
    return {"count": count, "links": {"messages": link}}
