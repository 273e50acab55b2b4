"""Channels and consumers on their pages: what the engine does for them, and the acts that hold it or let it go on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.decorators import display

from channels_app import services
from channels_app.admin.links import address, listed
from channels_app.admin.pages import Act, Question, ask
from channels_app.admin.registry import RegistryAdmin
from channels_app.admin.states import TONES, is_held, state_of
from channels_app.models import DeliveryJob

# Posted from a row's own page: that is where to go back to.
FROM_PAGE = "from_page"


@dataclass(frozen=True)
class Deed:
    """An act on rows: what the button says, what is asked before, what is noted after."""

    name: str
    title: str
    icon: str
    text: str
    noted: str
    do: Callable[[Any], object]


PAUSE = Deed(
    "pause",
    "Pause",
    "pause_circle",
    "Nothing more is delivered until somebody resumes it. Messages are still accepted; nothing is lost.",
    "Paused",
    services.pause,
)
RESUME = Deed(
    "resume",
    "Resume",
    "play_circle",
    "What has waited is delivered now. A consumer that was disabled, or whose breaker is open, starts afresh.",
    "Resumed",
    services.resume,
)


class EngineAdmin(RegistryAdmin):
    actions: tuple[str, ...] = ("pause", "resume")
    change_form_outer_before_template = "channels_app/admin/engine.html"

    @admin.action(description="Pause the selected", permissions=["change"])
    def pause(self, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        return self.perform(request, list(queryset), PAUSE)

    @admin.action(description="Resume the selected", permissions=["change"])
    def resume(self, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        return self.perform(request, list(queryset), RESUME)

    def perform(self, request: HttpRequest, rows: list[Any], deed: Deed) -> HttpResponse | None:
        """Asks, then acts and notes it; the list's transaction holds both together."""
        if "confirmed" not in request.POST:
            return ask(request, self, _question(request, rows, deed))
        for row in rows:
            deed.do(row)
            self.log_change(request, row, deed.noted)
        self.message_user(request, f"{deed.noted}: {_names(rows)}.", messages.SUCCESS)
        return redirect(address(rows[0])) if rows and FROM_PAGE in request.POST else None

    @display(description="delivery", label=TONES)  # type: ignore[untyped-decorator]
    def delivery(self, row: Any) -> str:
        return state_of(row).word

    def acts(self, request: HttpRequest, row: Any) -> list[Act]:
        acts = [*self._traffic(request, row), *super().acts(request, row)]
        if row.deleted_at or not self.has_change_permission(request, row):
            return acts
        return [*acts, *(_button(row, deed) for deed in self.deeds(row))]

    def deeds(self, row: Any) -> list[Deed]:
        """What can be done with it now."""
        return [*([] if row.state.paused_at else [PAUSE]), *([RESUME] if is_held(row) else [])]

    def _traffic(self, request: HttpRequest, row: Any) -> list[Act]:
        if not request.user.has_perm("channels_app.view_deliveryjob"):
            return []
        return [Act("Jobs", "work", listed(DeliveryJob, **{f"{self.opts.model_name}__id__exact": row.pk}))]

    def engine_facts(self, row: Any) -> list[str]:
        """What else there is to say beside the state."""
        return []

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        row = kwargs.get("obj")
        if row and not row.deleted_at:
            context = {**context, "engine": state_of(row), "engine_facts": self.engine_facts(row)}
        return super().render_change_form(request, context, *args, **kwargs)


def _button(row: Any, deed: Deed) -> Act:
    """Posts what the list would post for this row alone."""
    fields = {"action": [deed.name], "_selected_action": [row.pk], FROM_PAGE: ["yes"]}
    return Act(deed.title, deed.icon, listed(type(row)), posts=True, fields=fields)


def _question(request: HttpRequest, rows: list[Any], deed: Deed) -> Question:
    again = {FROM_PAGE: ["yes"]} if FROM_PAGE in request.POST else {}
    chosen = {"action": [deed.name], "_selected_action": [row.pk for row in rows], "confirmed": ["yes"]}
    return Question(f"{deed.title} {_names(rows)}?", deed.text, f"Yes, {deed.title.lower()}", {**chosen, **again})


def _names(rows: list[Any]) -> str:
    return ", ".join(str(row) for row in rows)
