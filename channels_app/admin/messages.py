"""Messages: found by id, channel, status or time, each with the story of its deliveries."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import flatten
from django.db.models import BinaryField, F, Func, IntegerField, Prefetch, QuerySet
from django.db.models.functions import Substr
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from unfold.contrib.filters.admin import ChoicesRadioFilter
from unfold.decorators import display

from broker_project.lib.patterns import PUBLIC_ID
from channels_app.admin import payloads, timeline
from channels_app.admin.endless import EndlessListAdmin
from channels_app.admin.filters import ChannelFilter
from channels_app.admin.links import link, listed
from channels_app.admin.pages import Act
from channels_app.admin.received import ReceivedFilter
from channels_app.models import Channel, DeliveryJob, Message, MessageKey, Producer

# An octet_length does not read the payload; a payload of its own is read for its own page only.
SIZE = Func(F("payload"), function="octet_length", output_field=IntegerField())
HEAD = Substr("payload", 1, payloads.SHOWN_BYTES, output_field=BinaryField())
NOT_LISTED = ("payload", "headers")
# Buttons of a message's page, now or for later; an app with more to tell of a message adds one.
ACTS_OF_MESSAGE: list[Callable[[Any], Act]] = []


def rows_with_id(message_id: str) -> list[int]:
    """The messages with this id, in every channel. The key begins with the channel, so each is asked: one look an
    index entry, where LIKE or a search of the table would read them all.
    """
    if not PUBLIC_ID.fullmatch(message_id):
        return []
    keys = MessageKey.objects.filter(channel_id__in=Channel.objects.values("pk"), message_id=message_id)
    return list(keys.values_list("row_id", flat=True))


@admin.register(Message)
class MessageAdmin(EndlessListAdmin):
    list_display = (
        "message_id",
        "channel_link",
        "producer_link",
        "state",
        "priority",
        "size",
        "received_at",
        "dispatched_at",
    )
    list_filter = (("channel", ChannelFilter), ("status", ChoicesRadioFilter), ("received_at", ReceivedFilter))
    lookups = frozenset(
        {
            "channel__id__exact",
            "status__exact",
            *(f"received_at_{end}_{part}" for end in ("from", "to") for part in (0, 1)),
        }
    )
    search_fields = ("message_id",)
    search_help_text = "A message id, whole"
    fields = (
        "message_id",
        ("channel_link", "producer_link"),
        ("state", "priority"),
        ("content_type", "size"),
        ("received_at", "dispatched_at"),
    )
    readonly_fields = tuple(flatten(fields))
    change_form_outer_before_template = "channels_app/admin/acts.html"
    change_form_outer_after_template = "channels_app/admin/message.html"

    class Media:
        css = {"all": ("channels_app/timeline.css",)}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Message]:
        """Names come in queries of their own: no join can tempt the planner away from the primary key."""
        names = (
            Prefetch(name, model.objects.only("public_id"))
            for name, model in (("channel", Channel), ("producer", Producer))
        )
        rows: QuerySet[Message] = super().get_queryset(request)
        return rows.defer(*NOT_LISTED).annotate(bytes=SIZE).prefetch_related(*names)

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        if not search_term:
            return queryset, False
        # The key of a scheduled message points elsewhere: the id must be the row's own.
        wanted = search_term.strip()
        return queryset.filter(pk__in=rows_with_id(wanted), message_id=wanted), False

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        message = kwargs["obj"]
        stories = timeline.stories(message)
        story = {
            "acts": [
                *(act(message) for act in ACTS_OF_MESSAGE),
                Act("Jobs of this message", "work", listed(DeliveryJob, message__id__exact=message.pk)),
            ],
            "beginning": list(timeline.beginning(message)),
            "stories": stories[: timeline.MOST_JOBS],
            "more_jobs": len(stories) > timeline.MOST_JOBS,
            "payload": _payload(message),
        }
        return super().render_change_form(request, {**context, **story}, *args, **kwargs)

    @admin.display(description="channel")
    def channel_link(self, message: Message) -> str:
        return link(message.channel)

    @admin.display(description="producer")
    def producer_link(self, message: Message) -> str:
        return link(message.producer)

    @display(description="status", label=timeline.MESSAGE_TONES)  # type: ignore[untyped-decorator]
    def state(self, message: Message) -> str:
        return message.status_name

    @admin.display(description="size")
    def size(self, message: Any) -> str:
        return filesizeformat(message.bytes)


def _payload(message: Any) -> payloads.Shown:
    head = Message.objects.filter(pk=message.pk).values_list(HEAD, flat=True).first()
    return payloads.show(bytes(head or b""), size=message.bytes)
