"""How a recurring schedule stands, in words."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import RadioFilter

from channels_app.admin.states import State, written
from scheduling_app.models import RecurringSchedule
from scheduling_app.models.recurring import STATES

TONES = {"active": "success", "paused": "warning", "ended": "info", "deleted": "danger"}


def standing_of(schedule: RecurringSchedule) -> State:
    return State(schedule.state, TONES[schedule.state], _sentence(schedule))


def when(schedule: RecurringSchedule) -> str:
    if schedule.cron is None:
        return f"every {schedule.interval_seconds:,} s"
    return f"{schedule.cron} ({schedule.timezone})"


def _sentence(schedule: RecurringSchedule) -> str:
    if schedule.deleted_at:
        return f"Deleted on {written(schedule.deleted_at)}."
    if schedule.paused_at:
        why = f": {schedule.paused_note}" if schedule.paused_note else "."
        return f"Paused since {written(schedule.paused_at)} by {schedule.paused_by}{why}"
    return f"Ticks next on {written(schedule.next_at)}." if schedule.next_at else "It will not tick any more."


class StandingFilter(RadioFilter):
    """All that are not deleted, unless one state is asked for."""

    title = "state"
    parameter_name = "state"
    all_option = ("", "Live")

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [(state, state.capitalize()) for state in STATES]

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        rows: Any = queryset
        return rows.of_state(self.value()) if self.value() in STATES else rows.live()
