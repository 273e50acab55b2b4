"""Staff act on messages for later, on one or on several."""

from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from broker_project.lib.errors import BrokerError
from channels_app.admin.endless import EndlessListAdmin
from channels_app.admin.engine import FROM_PAGE
from channels_app.admin.links import address
from channels_app.admin.pages import ask
from scheduling_app import services
from scheduling_app.admin import acts
from scheduling_app.models import ScheduledMessage

MOST_AT_ONCE = 100


class ActingAdmin(EndlessListAdmin):
    """Rows are looked at, not edited: each act is a service's, asked for first, and audited."""

    actions = ("reschedule", "dispatch_now", "cancel")

    def has_act_permission(self, request: HttpRequest) -> bool:
        """Nobody types into a message; who may change them may act on them."""
        return request.user.has_perm("scheduling_app.change_scheduledmessage")

    @admin.action(description="Reschedule the selected", permissions=["act"])
    def reschedule(self, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        rows = self._chosen(request, queryset)
        if not rows:
            return None
        form = acts.RescheduleForm(request.POST if "confirmed" in request.POST else None, initial=_times(rows))
        if form.is_valid():
            return self.perform(request, rows, acts.reschedule_to(form.cleaned_data["to"]))
        asked = acts.question(rows, acts.RESCHEDULE, request.POST)
        frame = {**self.admin_site.each_context(request), "opts": self.opts, "title": asked.title}
        return TemplateResponse(
            request, "scheduling_app/admin/reschedule.html", {**frame, "question": asked, "form": form}
        )

    @admin.action(description="Dispatch the selected now", permissions=["act"])
    def dispatch_now(self, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        return self._ask_and_perform(request, queryset, acts.DISPATCH_NOW)

    @admin.action(description="Cancel the selected", permissions=["act"])
    def cancel(self, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        return self._ask_and_perform(request, queryset, acts.CANCEL)

    def _ask_and_perform(self, request: HttpRequest, queryset: Any, deed: acts.Deed) -> HttpResponse | None:
        rows = self._chosen(request, queryset)
        if not rows:
            return None
        if "confirmed" not in request.POST:
            return ask(request, self, acts.question(rows, deed, request.POST))
        return self.perform(request, rows, deed)

    def perform(self, request: HttpRequest, rows: list[ScheduledMessage], deed: acts.Deed) -> HttpResponse | None:
        done = [row for row in rows if self._do(request, row, deed)]
        if done:
            self.message_user(request, f"{deed.noted}: {acts.names(done)}.", messages.SUCCESS)
        return redirect(address(rows[0])) if FROM_PAGE in request.POST else None

    def _do(self, request: HttpRequest, row: ScheduledMessage, deed: acts.Deed) -> bool:
        """The act and its audit together, or neither."""
        try:
            with transaction.atomic():
                deed.do(message=row, by=request.user.get_username())
                self.log_change(request, row, deed.noted)
        except BrokerError as error:
            self.message_user(request, f"{row}: {error.detail}", messages.WARNING)
            return False
        # The service has rung from inside the transaction, where nobody could see yet what for.
        services.ring_next(row)
        return True

    def _chosen(self, request: HttpRequest, queryset: Any) -> list[ScheduledMessage]:
        """A list that is filtered by time or status may have lost them while staff were asked."""
        rows = list(queryset[: MOST_AT_ONCE + 1])
        if not rows:
            self.message_user(request, "None of them is in this list any more. Nothing was done.", messages.WARNING)
        if len(rows) <= MOST_AT_ONCE:
            return rows
        self.message_user(request, f"No more than {MOST_AT_ONCE} at once, please. Nothing was done.", messages.ERROR)
        return []


def _times(rows: list[ScheduledMessage]) -> dict[str, str]:
    """One row's own time to begin with; several have none in common."""
    at: datetime | None = rows[0].scheduled_for if len(rows) == 1 else None
    return {"to": f"{at:%Y-%m-%dT%H:%M:%S}"} if at else {}
