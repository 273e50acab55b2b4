"""Recurring schedules: what ticks when, and the acts that hold one, let it go on, or run it once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import flatten
from django.db import transaction
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from unfold.decorators import display

from broker_project.lib.errors import BrokerError
from channels_app.admin import navigation
from channels_app.admin.engine import FROM_PAGE
from channels_app.admin.filters import ChannelFilter
from channels_app.admin.links import address, link, listed
from channels_app.admin.lists import LongListAdmin
from channels_app.admin.pages import Act, Question
from channels_app.models import Channel, Producer
from scheduling_app import schedules
from scheduling_app.admin.standing import TONES, StandingFilter, standing_of, when
from scheduling_app.errors import ScheduleUnreadable
from scheduling_app.models import RecurringSchedule
from scheduling_app.models.recurring import MAX_NOTE_LENGTH

navigation.GROUPS["Traffic"].append((RecurringSchedule, "event_repeat"))

SHOWN_CHARACTERS = 2_000
PREVIEWED = 10


@dataclass(frozen=True)
class Deed:
    """An act on schedules: what the button says, what is asked before, what is noted after if `do` did something."""

    name: str
    title: str
    icon: str
    text: str
    noted: str
    do: Callable[[RecurringSchedule, str, str], object]
    takes_note: bool = False


PAUSE = Deed(
    "pause",
    "Pause",
    "pause_circle",
    "No tick is made until somebody resumes it. What it misses meanwhile is skipped or made up for, as it says itself.",
    "Paused",
    lambda schedule, by, note: schedules.pause(schedule, by=by, note=note),
    takes_note=True,
)
RESUME = Deed(
    "resume",
    "Resume",
    "play_circle",
    "It ticks again. What it has missed is skipped or made up for, as it says itself.",
    "Resumed",
    lambda schedule, by, _note: schedules.resume(schedule, by=by),
)
RUN = Deed(
    "run_once",
    "Run once now",
    "bolt",
    "A message is sent at once, whether it is paused or not. Its ticks go on as if nothing had been.",
    "Run once",
    lambda schedule, by, _note: schedules.run_once(schedule, by=by),
)


@admin.register(RecurringSchedule)
class RecurringScheduleAdmin(LongListAdmin):
    """For looking and acting; schedules are written over the API."""

    list_display = (
        "public_id",
        "channel_link",
        "standing",
        "ticks_at",
        "coming_at",
        "last_tick_at",
        "ticks_so_far",
        "skipped",
    )
    list_filter = (StandingFilter, ("channel", ChannelFilter))
    list_select_related = ()
    sortable_by = ()
    search_fields = ("public_id",)
    search_help_text = "Part of an id"
    actions = ("pause", "resume", "run_once")
    fields = (
        ("public_id", "channel_link", "producer_link"),
        "ticks_at",
        ("start_at", "end_at"),
        ("missed", "overlap"),
        ("last_tick_at", "ticks_so_far", "skipped"),
        ("content_type", "priority"),
        "template",
        ("created_at", "changed_at"),
    )
    readonly_fields = tuple(flatten(fields))
    change_form_outer_before_template = "channels_app/admin/engine.html"
    change_form_outer_after_template = "scheduling_app/admin/ticks.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[RecurringSchedule]:
        """Names in queries of their own, without tokens; a payload is read for its own page only."""
        names = (
            Prefetch(name, model.objects.only("public_id", "deleted_at"))
            for name, model in (("channel", Channel), ("producer", Producer))
        )
        rows: QuerySet[RecurringSchedule] = super().get_queryset(request)
        return rows.defer("payload", "headers").prefetch_related(*names)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """To act on it; its page has no form."""
        return obj is None and super().has_change_permission(request)

    @admin.action(description="Pause the selected", permissions=["change"])
    def pause(self, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        return self.perform(request, list(queryset), PAUSE)

    @admin.action(description="Resume the selected", permissions=["change"])
    def resume(self, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        return self.perform(request, list(queryset), RESUME)

    @admin.action(description="Run the selected once now", permissions=["change"])
    def run_once(self, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        return self.perform(request, list(queryset), RUN)

    def perform(self, request: HttpRequest, rows: list[RecurringSchedule], deed: Deed) -> HttpResponse | None:
        """Asks, then acts on all or, if one refuses, on none; those that stand so already are left out."""
        if not rows:
            self.message_user(request, "None of the selected is there any more: nothing was done.", messages.WARNING)
            return None
        if "confirmed" not in request.POST:
            return self._ask(request, rows, deed)
        note = request.POST.get("note", "").replace("\x00", "").strip()[:MAX_NOTE_LENGTH]
        try:
            with transaction.atomic():
                moved = [row for row in rows if deed.do(row, request.user.get_username(), note)]
                for row in moved:
                    self.log_change(request, row, f"{deed.noted}: {note}" if note else deed.noted)
        except BrokerError as refusal:
            self.message_user(request, refusal.detail, messages.ERROR)
        else:
            self._report(request, moved, deed)
        return redirect(address(rows[0])) if FROM_PAGE in request.POST else None

    def _report(self, request: HttpRequest, moved: list[RecurringSchedule], deed: Deed) -> None:
        if moved:
            self.message_user(request, f"{deed.noted}: {_names(moved)}.", messages.SUCCESS)
        else:
            self.message_user(request, f"{deed.noted}: none, for they stand so already.", messages.WARNING)

    def _ask(self, request: HttpRequest, rows: list[RecurringSchedule], deed: Deed) -> TemplateResponse:
        again = {FROM_PAGE: ["yes"]} if FROM_PAGE in request.POST else {}
        chosen: dict[str, list[Any]] = {"_selected_action": [row.pk for row in rows], "confirmed": ["yes"]}
        title = f"{deed.title}: {_names(rows)}?"
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": title,
            "question": Question(title, deed.text, f"Yes, {deed.title.lower()}", {**_action(deed), **chosen, **again}),
            "takes_note": deed.takes_note,
            "most": MAX_NOTE_LENGTH,
        }
        return TemplateResponse(request, "scheduling_app/admin/act.html", context)

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        row = kwargs["obj"]
        more = {"engine": standing_of(row), "acts": self._acts(request, row), **_coming(row)}
        return super().render_change_form(request, {**context, **more}, *args, **kwargs)

    def _acts(self, request: HttpRequest, row: RecurringSchedule) -> list[Act]:
        if row.deleted_at or not self.has_change_permission(request):
            return []
        return [_button(row, deed) for deed in (RESUME if row.paused_at else PAUSE, RUN)]

    @admin.display(description="channel")
    def channel_link(self, row: RecurringSchedule) -> str:
        return link(row.channel)

    @admin.display(description="producer")
    def producer_link(self, row: RecurringSchedule) -> str:
        return link(row.producer)

    @display(description="state", label=TONES)  # type: ignore[untyped-decorator]
    def standing(self, row: RecurringSchedule) -> str:
        return row.state

    @admin.display(description="ticks")
    def ticks_at(self, row: RecurringSchedule) -> str:
        return when(row)

    @admin.display(description="ticks so far")
    def ticks_so_far(self, row: RecurringSchedule) -> int:
        return row.ticks

    @admin.display(description="next tick")
    def coming_at(self, row: RecurringSchedule) -> Any:
        return row.coming_at

    @admin.display(description="payload")
    def template(self, row: RecurringSchedule) -> str:
        text = row.payload_text
        return f"{len(row.payload):,} bytes, not text" if text is None else text[:SHOWN_CHARACTERS]


def _button(row: RecurringSchedule, deed: Deed) -> Act:
    """Posts what the list would post for this row alone."""
    fields = {**_action(deed), "_selected_action": [row.pk], FROM_PAGE: ["yes"]}
    return Act(deed.title, deed.icon, listed(RecurringSchedule, state=row.state), posts=True, fields=fields)


def _action(deed: Deed) -> dict[str, list[Any]]:
    return {"action": [deed.name]}


def _coming(row: RecurringSchedule) -> dict[str, Any]:
    """The next ticks, or why nobody can tell."""
    try:
        found = schedules.preview(row, count=PREVIEWED)
    except ScheduleUnreadable as refusal:
        return {"coming": [], "unreadable": refusal.detail}
    return {"coming": [{"at": at, "local": at.strftime("%a %Y-%m-%d %H:%M:%S %Z")} for at in found]}


def _names(rows: list[RecurringSchedule]) -> str:
    return ", ".join(str(row) for row in rows)
