"""Acts of staff on messages for later. Each asks first; who loses a race with the dispatch is told, the rest go on."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminTextInputWidget

from broker_project.lib.errors import BrokerError
from channels_app.admin.engine import FROM_PAGE
from channels_app.admin.links import listed
from channels_app.admin.pages import Act, Question
from channels_app.admin.states import written
from scheduling_app import services
from scheduling_app.door.later import check_delay
from scheduling_app.models import ScheduledMessage

MOST_NAMED = 5
# What is due later by a channel's spread must be a time as well.
LAST_YEAR = 9998
Fields = dict[str, list[Any]]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Deed:
    """An act: what the button says, what is asked before, what is noted after."""

    name: str
    title: str
    icon: str
    text: str
    noted: str
    do: Callable[..., None]


CANCEL = Deed(
    "cancel",
    "Cancel",
    "cancel",
    "It will not be sent. This cannot be taken back, and its id stays taken.",
    "Cancelled",
    services.cancel,
)
DISPATCH_NOW = Deed(
    "dispatch_now",
    "Dispatch now",
    "send",
    "It becomes a message at once, before anything else of its partition that is not yet due.",
    "Dispatched now",
    services.dispatch_now,
)
RESCHEDULE = Deed(
    "reschedule",
    "Reschedule",
    "event_repeat",
    "It goes at this time instead. What its channel had spread it by is kept.",
    "Rescheduled",
    services.reschedule,
)
DEEDS = (RESCHEDULE, DISPATCH_NOW, CANCEL)


class RescheduleForm(forms.Form):
    to = forms.DateTimeField(
        label="New time (UTC)",
        widget=UnfoldAdminTextInputWidget(attrs={"type": "datetime-local", "step": "1"}),
        error_messages={"required": "When should it go?", "invalid": "This is no time."},
    )

    def clean_to(self) -> datetime:
        to: datetime = self.cleaned_data["to"]
        if to.year > LAST_YEAR:
            raise forms.ValidationError(f"The last year that can be asked for is {LAST_YEAR}.")
        try:
            check_delay((to - _EPOCH) // timedelta(microseconds=1))
        except BrokerError as error:
            raise forms.ValidationError(error.detail) from error
        return to


def reschedule_to(to: datetime) -> Deed:
    return replace(RESCHEDULE, noted=f"Rescheduled to {written(to)}", do=partial(services.reschedule, to=to))


def button(message: ScheduledMessage, deed: Deed) -> Act:
    """Posts what the list would post for this row alone."""
    fields: Fields = {"action": [deed.name], "_selected_action": [message.pk], FROM_PAGE: ["yes"]}
    return Act(deed.title, deed.icon, listed(ScheduledMessage), posts=True, fields=fields)


def question(rows: list[ScheduledMessage], deed: Deed, posted: Any) -> Question:
    again: Fields = {FROM_PAGE: ["yes"]} if FROM_PAGE in posted else {}
    chosen: Fields = {"action": [deed.name], "_selected_action": [row.pk for row in rows], "confirmed": ["yes"]}
    return Question(f"{deed.title}: {names(rows)}?", deed.text, f"Yes, {deed.title.lower()}", {**chosen, **again})


def names(rows: list[ScheduledMessage]) -> str:
    named = ", ".join(str(row) for row in rows[:MOST_NAMED])
    return f"{named} and {len(rows) - MOST_NAMED} more" if len(rows) > MOST_NAMED else named
