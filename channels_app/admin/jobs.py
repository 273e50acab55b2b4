"""Jobs: what is under way, what waits and for when, what is dead and why."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import flatten
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import ChoicesDropdownFilter, ChoicesRadioFilter, RadioFilter
from unfold.decorators import display

from channels_app.admin import timeline
from channels_app.admin.endless import EndlessList, EndlessListAdmin
from channels_app.admin.filters import ChannelFilter
from channels_app.admin.links import address, link
from channels_app.admin.messages import rows_with_id
from channels_app.admin.pages import Act
from channels_app.models import Channel, Consumer, DeliveryJob, JobStatus, Message

# These have an index; jobs that came to an end have none.
INDEXED_STATUSES = {str(JobStatus.QUEUED), str(JobStatus.INFLIGHT)}
INDEXED = {"turn", "message__id__exact"}


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
    )
    lookups = frozenset(
        {"status__exact", "reason__exact", "channel__id__exact", "consumer__id__exact", "message__id__exact", "turn"}
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
    )
    readonly_fields = tuple(flatten(fields))
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
            Prefetch("consumer", Consumer.objects.only("public_id")),
        )

    def must_look_at_each(self, rows: EndlessList) -> bool:
        asked = rows.params
        found_by_index = rows.query or asked.get("status__exact") in INDEXED_STATUSES or asked.keys() & INDEXED
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
        shown = {
            "acts": [
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
