"""Jobs: what is under way, what waits and for when, what is dead and why."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import flatten
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import truncatechars
from unfold.contrib.filters.admin import ChoicesDropdownFilter, ChoicesRadioFilter, RadioFilter, TextFilter
from unfold.decorators import display

from channels_app.admin import timeline
from channels_app.admin.endless import EndlessList, EndlessListAdmin
from channels_app.admin.filters import ChannelFilter
from channels_app.admin.links import address, link
from channels_app.admin.messages import ACTS_OF_MESSAGE, rows_with_id
from channels_app.admin.pages import Act
from channels_app.admin.states import written
from channels_app.admin.words import ACKNOWLEDGED_BY
from channels_app.models import Channel, Consumer, DeliveryJob, JobStatus, Message
from channels_app.pull import devices

IN_FLIGHT = str(JobStatus.INFLIGHT)
# These have an index; jobs that came to an end have none.
INDEXED_STATUSES = {str(JobStatus.QUEUED), IN_FLIGHT}
INDEXED = {"turn", "message__id__exact"}
# In a list; on its own page a name is shown whole.
SHOWN_OF_DEVICE = 32
# Of jobs that their consumer acknowledges, by what it says of them.
HELD_FIELDS = (("received_at", "started_at"), ("device_id",), ("device_started", "device_completed"))


class TurnFilter(RadioFilter):
    """Of the queued jobs: those that could go now, and those that wait for their next try."""

    title = "turn"
    parameter_name = "turn"

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [("ready", "Ready"), ("waiting", "Waiting for the next try")]

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in ("ready", "waiting"):
            return queryset
        return queryset.filter(status=JobStatus.QUEUED, next_attempt_at__isnull=self.value() == "ready")


class JobStatusFilter(ChoicesRadioFilter):
    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Queued jobs stand in two indexes, and only who asks for either finds both."""
        rows: QuerySet[Any] = super().queryset(request, queryset)
        if self.value() != str(JobStatus.QUEUED):
            return rows
        return rows.filter(Q(next_attempt_at__isnull=True) | Q(next_attempt_at__isnull=False))


class DeviceFilter(TextFilter):
    """Devices have no index of their own. What one has now is found among the jobs in flight, which have; what it had
    before by looking at each row, so many ids at a time.
    """

    title = "device (whole name)"
    parameter_name = "device"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        device_id = self.value()
        if not device_id:
            return queryset
        if "\x00" in device_id:
            return queryset.none()
        if request.GET.get("status__exact") == IN_FLIGHT:
            return queryset.filter(pk__in=devices.held_by(device_id))
        return queryset.filter(device_id=device_id)


@admin.register(DeliveryJob)
class JobAdmin(EndlessListAdmin):
    list_display = (
        "id",
        "message_link",
        "channel_link",
        "consumer_link",
        "state",
        "reason",
        "failures",
        "attempt",
        "next_attempt",
        "changed",
    )
    list_filter = (
        ("status", JobStatusFilter),
        TurnFilter,
        ("reason", ChoicesDropdownFilter),
        ("channel", ChannelFilter),
        ("consumer", ChannelFilter),
        DeviceFilter,
    )
    lookups = frozenset(
        {
            "status__exact",
            "reason__exact",
            "channel__id__exact",
            "consumer__id__exact",
            "message__id__exact",
            "turn",
            "device",
        }
    )
    search_fields = ("id",)
    search_help_text = "A job's number or a message id, whole"
    fields = (
        ("message_link", "state"),
        ("channel_link", "consumer_link"),
        ("failures", "attempt"),
        ("priority", "reason"),
        ("next_attempt_at", "lease_until"),
        ("created_at", "expires_at"),
        ("completed", "acknowledged_by"),
    )
    readonly_fields = tuple(flatten((*fields, *HELD_FIELDS)))
    change_form_outer_before_template = "channels_app/admin/acts.html"
    change_form_outer_after_template = "channels_app/admin/job.html"

    class Media:
        css = {"all": ("channels_app/timeline.css",)}

    def get_queryset(self, request: HttpRequest) -> QuerySet[DeliveryJob]:
        """Names come in queries of their own: no join can tempt the planner away from the primary key."""
        rows: QuerySet[DeliveryJob] = super().get_queryset(request)
        return rows.prefetch_related(
            Prefetch("message", Message.objects.only("message_id", "received_at")),
            Prefetch("channel", Channel.objects.only("public_id")),
            Prefetch("consumer", Consumer.objects.only("public_id", "type", "pull_mode", "ack_mode")),
        )

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        """With the device where one may be told from another: most jobs of most consumers have none."""
        asked = request.GET
        helps = asked.get("status__exact") == IN_FLIGHT or asked.get("consumer__id__exact") or asked.get("device")
        return (*self.list_display, "device") if helps else self.list_display

    def get_fields(self, request: HttpRequest, obj: DeliveryJob | None = None) -> tuple[Any, ...]:
        is_held = obj is not None and (obj.received_at is not None or obj.consumer.acknowledges)
        return (*self.fields, *HELD_FIELDS) if is_held else self.fields

    def must_look_at_each(self, rows: EndlessList) -> bool:
        """A form sends its empty fields along: they ask for nothing."""
        asked = {name: value for name, value in rows.params.items() if value}
        if rows.query or "message__id__exact" in asked:
            return False
        if "device" in asked:
            return asked.get("status__exact") != IN_FLIGHT
        found_by_index = asked.get("status__exact") in INDEXED_STATUSES or asked.keys() & INDEXED
        return bool(asked.keys() & self.lookups) and not found_by_index

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        wanted = search_term.strip()
        if not wanted:
            return queryset, False
        found = Q(message__in=rows_with_id(wanted))
        if wanted.isascii() and wanted.isdigit() and len(wanted) < 19:
            found |= Q(pk=int(wanted))
        return queryset.filter(found), False

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        job = timeline.told(DeliveryJob.objects.select_related("message").defer("message__payload")).get(
            pk=kwargs["obj"].pk
        )
        job.message.channel = job.consumer.channel
        shown = {
            "acts": [
                *(act(job.message) for act in ACTS_OF_MESSAGE),
                Act("Message", "mail", address(job.message)),
                Act(f"Consumer {job.consumer}", "cell_tower", address(job.consumer)),
                Act(f"Channel {job.consumer.channel}", "hub", address(job.consumer.channel)),
            ],
            "story": timeline.story(job, job.message.received_at),
        }
        return super().render_change_form(request, {**context, **shown}, *args, **kwargs)

    @admin.display(description="message")
    def message_link(self, job: DeliveryJob) -> str:
        return link(job.message)

    @admin.display(description="channel")
    def channel_link(self, job: DeliveryJob) -> str:
        return link(job.channel)

    @admin.display(description="consumer")
    def consumer_link(self, job: DeliveryJob) -> str:
        return link(job.consumer)

    @display(description="status", label=timeline.JOB_TONES)  # type: ignore[untyped-decorator]
    def state(self, job: DeliveryJob) -> str:
        return job.status_name

    @admin.display(description="next attempt")
    def next_attempt(self, job: DeliveryJob) -> datetime | None:
        return job.next_attempt_at

    @admin.display(description="changed")
    def changed(self, job: DeliveryJob) -> datetime:
        return job.status_changed_at

    @admin.display(description="device")
    def device(self, job: DeliveryJob) -> str | None:
        return truncatechars(job.device_id, SHOWN_OF_DEVICE) if job.device_id else None

    @admin.display(description="completed at")
    def completed(self, job: DeliveryJob) -> str:
        return written(job.completed_at)

    @admin.display(description="acknowledged by")
    def acknowledged_by(self, job: DeliveryJob) -> str:
        return ACKNOWLEDGED_BY[job.consumer.acknowledges_by]

    @admin.display(description="started, by the device's clock")
    def device_started(self, job: DeliveryJob) -> str:
        return timeline.stamp(job.device_started_at) if job.device_started_at else ""

    @admin.display(description="completed, by the device's clock")
    def device_completed(self, job: DeliveryJob) -> str:
        return timeline.stamp(job.device_completed_at) if job.device_completed_at else ""
