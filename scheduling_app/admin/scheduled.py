"""Messages for later: found by id, channel, status or time, each with its story, and what staff can still do to it."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import flatten
from django.contrib.admin.views.main import PAGE_VAR
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.html import format_html
from unfold.contrib.filters.admin import ChoicesRadioFilter
from unfold.decorators import display

from broker_project.lib.patterns import PUBLIC_ID
from channels_app.admin import navigation, payloads
from channels_app.admin.channels import LISTS_OF_CHANNEL
from channels_app.admin.endless import EndlessList
from channels_app.admin.filters import ChannelFilter
from channels_app.admin.links import address, link
from channels_app.admin.messages import ACTS_OF_MESSAGE, HEAD, NOT_LISTED, SIZE
from channels_app.admin.pages import Act
from channels_app.admin.states import written
from channels_app.models import Channel, Message, MessageKey, Producer
from scheduling_app.admin.acting import ActingAdmin
from scheduling_app.admin.acts import DEEDS, button
from scheduling_app.admin.due import PARAMETER, DueFilter, ScheduledList
from scheduling_app.admin.picture import picture
from scheduling_app.admin.story import TONES, because, story, wait
from scheduling_app.models import ScheduledMessage, ScheduledStatus
from scheduling_app.outlook import outlook

# These have an index of their own; the others have one in each channel.
INDEXED_STATUSES = {str(ScheduledStatus.SET_ASIDE)}

navigation.GROUPS["Traffic"].append((ScheduledMessage, "schedule_send"))
LISTS_OF_CHANNEL.append((ScheduledMessage, "schedule_send"))


@admin.register(ScheduledMessage)
class ScheduledMessageAdmin(ActingAdmin):
    list_display = ("message_id", "channel_link", "due", "state", "priority", "partition", "why")
    list_filter = (("channel", ChannelFilter), DueFilter, ("status", ChoicesRadioFilter))
    lookups = frozenset({"channel__id__exact", "status__exact", PARAMETER})
    search_fields = ("message_id",)
    search_help_text = "A message id, whole"
    fields = (
        "message_id",
        ("channel_link", "producer_link"),
        ("state", "why"),
        ("priority", "partition"),
        ("content_type", "size"),
        ("created_at", "scheduled_for"),
        ("due_at", "dispatched_at"),
    )
    readonly_fields = tuple(flatten(fields))
    list_before_template = "scheduling_app/admin/outlook.html"
    change_form_outer_before_template = "channels_app/admin/acts.html"
    change_form_outer_after_template = "scheduling_app/admin/scheduled.html"

    class Media:
        css = {"all": ("channels_app/timeline.css", "scheduling_app/outlook.css")}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[EndlessList]:
        return ScheduledList

    def must_look_at_each(self, rows: EndlessList) -> bool:
        asked = rows.params
        found_by_index = rows.query or asked.get("channel__id__exact") or asked.get(PARAMETER)
        return bool(asked.get("status__exact")) and not (found_by_index or asked["status__exact"] in INDEXED_STATUSES)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ScheduledMessage]:
        """Names come in queries of their own, as for messages: no join tempts the planner away from an index."""
        rows: QuerySet[ScheduledMessage] = super().get_queryset(request)
        return (
            rows.defer(*NOT_LISTED)
            .annotate(bytes=SIZE)
            .prefetch_related(
                Prefetch("channel", Channel.objects.only("public_id", "release_per_second")),
                Prefetch("producer", Producer.objects.only("public_id")),
            )
        )

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        """The index of ids begins with the channel, so each channel is asked, as for messages."""
        wanted = search_term.strip()
        if not wanted:
            return queryset, False
        if not PUBLIC_ID.fullmatch(wanted):
            return queryset.none(), False
        return queryset.filter(channel_id__in=Channel.objects.values("pk"), message_id=wanted), False

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The picture is for the first page only."""
        shown = {"picture": picture(outlook(timezone.now()))} if PAGE_VAR not in request.GET else {}
        return super().changelist_view(request, {**shown, **(extra_context or {})})

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        message = kwargs["obj"]
        shown = {
            "acts": self.acts(request, message),
            "story": list(story(message, timezone.now())),
            "payload": _payload(message),
        }
        return super().render_change_form(request, {**context, **shown}, *args, **kwargs)

    def acts(self, request: HttpRequest, message: ScheduledMessage) -> list[Act]:
        became = _became(message)
        links = [act(message) for act in ACTS_OF_MESSAGE]
        links += [Act("Message", "mail", address(became))] if became else []
        links.append(Act(f"Channel {message.channel}", "hub", address(message.channel)))
        if message.status != ScheduledStatus.SCHEDULED or not self.has_act_permission(request):
            return links
        return [*links, *(button(message, deed) for deed in DEEDS)]

    @admin.display(description="channel")
    def channel_link(self, message: ScheduledMessage) -> str:
        return link(message.channel)

    @admin.display(description="producer")
    def producer_link(self, message: ScheduledMessage) -> str:
        return link(message.producer)

    @admin.display(description="due")
    def due(self, message: ScheduledMessage) -> str:
        if message.status != ScheduledStatus.SCHEDULED:
            return written(message.due_at)
        return format_html("{}, {}", written(message.due_at), wait(message.due_at, timezone.now()))

    @display(description="status", label=TONES)  # type: ignore[untyped-decorator]
    def state(self, message: ScheduledMessage) -> str:
        return message.status_name

    @admin.display(description="reason")
    def why(self, message: ScheduledMessage) -> str:
        return because(message.reason)

    @admin.display(description="size")
    def size(self, message: Any) -> str:
        return filesizeformat(message.bytes)


def _became(message: ScheduledMessage) -> Message | None:
    """The key of a dispatched one points to its message, which may have been pruned."""
    if message.status != ScheduledStatus.DISPATCHED:
        return None
    keys = MessageKey.objects.filter(channel_id=message.channel_id, message_id=message.message_id, scheduled=False)
    return Message.objects.only("pk").filter(pk__in=keys.values("row_id")).first()


def _payload(message: Any) -> payloads.Shown:
    head = ScheduledMessage.objects.filter(pk=message.pk).values_list(HEAD, flat=True).first()
    return payloads.show(bytes(head or b""), size=message.bytes)
