"""Acts of staff on letters: what a button says, what is asked before, what is noted after."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.urls import reverse

from channels_app.admin.engine import FROM_PAGE
from channels_app.admin.links import listed
from channels_app.admin.pages import Act, Question
from dlq_app.admin import acting
from dlq_app.models import DeadLetter, Resolution

MOST_NOTED = 1_000
# What the API takes as well.
MOST_A_SECOND = 100_000
_INPUT = (
    "bg-white border border-base-200 px-3 py-2 rounded-default shadow-xs w-full dark:bg-base-900 dark:border-base-700"
)


@dataclass(frozen=True)
class Deed:
    name: str
    title: str
    icon: str
    text: str
    noted: str
    resolution: Resolution
    do: Callable[..., None]


REQUEUE = Deed(
    "requeue",
    "Requeue",
    "replay",
    "Tried again at once, with all retries. What fails again comes back here.",
    "Requeued",
    Resolution.REQUEUED,
    acting.requeue,
)
DISCARD = Deed(
    "discard",
    "Discard",
    "delete",
    "Nobody will be asked about it again, and it is not sent. Its job stays dead, its history stays.",
    "Discarded",
    Resolution.DISCARDED,
    acting.discard,
)
DEEDS = (REQUEUE, DISCARD)


class NoteForm(forms.Form):
    """`note`: for whoever looks at the history."""

    note = forms.CharField(
        label="Why, for whoever looks at the history",
        max_length=MOST_NOTED,
        required=False,
        widget=forms.TextInput(attrs={"class": _INPUT}),
    )


class RedriveForm(NoteForm):
    rate = forms.IntegerField(
        label="At most so many a second (blank: as fast as it goes)",
        min_value=1,
        max_value=MOST_A_SECOND,
        required=False,
        widget=forms.NumberInput(attrs={"class": _INPUT}),
    )


def page_of(letter: DeadLetter) -> str:
    """By its job: a letter's own id is a new one each time it enters."""
    return reverse("admin:dlq_app_deadletter_change", args=[letter.job_id])


def button(letter: DeadLetter, deed: Deed) -> Act:
    """Posts what the list would post for this letter alone."""
    fields: dict[str, list[Any]] = {"action": [deed.name], "_selected_action": [letter.pk], FROM_PAGE: ["yes"]}
    return Act(deed.title, deed.icon, listed(DeadLetter), posts=True, fields=fields)


def question(letters: list[DeadLetter], deed: Deed, posted: Any) -> Question:
    again: dict[str, list[Any]] = {FROM_PAGE: ["yes"]} if FROM_PAGE in posted else {}
    chosen: dict[str, list[Any]] = {"action": [deed.name], "_selected_action": [letter.pk for letter in letters]}
    title = f"{deed.title} {how_many(len(letters))}?"
    return Question(title, deed.text, f"Yes, {deed.title.lower()}", {**chosen, "confirmed": ["yes"], **again})


def how_many(count: int) -> str:
    return f"{count:,} dead letter{'' if count == 1 else 's'}"
