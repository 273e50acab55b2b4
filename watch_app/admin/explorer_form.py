"""The search's form: what was typed becomes what is asked for, or a word on what is wrong with it."""

from datetime import UTC, datetime
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from broker_project.lib.errors import BrokerError
from broker_project.lib.patterns import PUBLIC_ID
from channels_app.models import Channel, Consumer
from channels_app.reasons import Reason
from channels_app.selectors import get_channel_or_past
from watch_app.admin.sight import Sight
from watch_app.explorer.asked import DEAD, FOR_LATER, OF_JOBS, OF_MESSAGES, Asked, Cursor

STATUSES = {
    "Messages": {"acknowledged": "Waiting for fan-out", "dispatched": "Dispatched"},
    "For later": {"scheduled": "Scheduled", "cancelled": "Cancelled", "set_aside": "Set aside"},
    "Deliveries": {
        "queued": "Queued",
        "in_flight": "In flight",
        "delivered": "Delivered",
        DEAD: "Dead (open letters)",
    },
}
_NOT_AN_ID = "An id is 1 to 255 of A-Z a-z 0-9 . _ ~ -"


def _statuses(sight: Sight) -> list[Any]:
    """Those of rows that the viewer may see."""
    hidden = {*(() if sight.scheduled else FOR_LATER), *(() if sight.letters else (DEAD,))}
    groups = {
        title: [(status, words) for status, words in group.items() if status not in hidden]
        for title, group in STATUSES.items()
    }
    return [("", "Any"), *((title, group) for title, group in groups.items() if group)]


def _text(label: str, **more: Any) -> forms.CharField:
    widget = UnfoldAdminTextInputWidget(attrs={"autocomplete": "off", "spellcheck": "false"})
    return forms.CharField(label=label, required=False, max_length=more.pop("max_length", 255), widget=widget, **more)


def _moment(label: str) -> forms.DateTimeField:
    widget = UnfoldAdminTextInputWidget(attrs={"type": "datetime-local", "step": "1"})
    formats = ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d"]
    errors = {"invalid": "This is no time. Write a time like 2026-12-31T23:59:59."}
    return forms.DateTimeField(label=label, required=False, widget=widget, input_formats=formats, error_messages=errors)


class SearchForm(forms.Form):
    id = _text("Message id", help_text="Whole; in all channels.")
    channel = _text("Channel")
    consumer = _text("Consumer")
    status = forms.ChoiceField(label="Status", required=False, widget=UnfoldAdminSelectWidget())
    since = _moment("From (UTC)")
    until = _moment("Before (UTC)")
    reason = forms.ChoiceField(
        label="Reason",
        required=False,
        choices=[("", "Any"), *((reason.value, reason.value) for reason in Reason)],
        widget=UnfoldAdminSelectWidget(),
    )
    error = _text("Words of the error", max_length=1000)

    def __init__(self, told: Any, *, sight: Sight) -> None:
        super().__init__(told)
        self.sight = sight
        self.fields["status"].choices = _statuses(sight)  # type: ignore[attr-defined]

    def clean_id(self) -> str:
        return self._public_id("id")

    def clean_channel(self) -> Channel | None:
        """The live one, else the one that was deleted last."""
        public_id = self._public_id("channel")
        try:
            return get_channel_or_past(public_id) if public_id else None
        except BrokerError as refusal:
            raise forms.ValidationError(refusal.detail) from refusal

    def clean_consumer(self) -> Consumer | None:
        public_id, channel = self._public_id("consumer"), self.cleaned_data.get("channel")
        if not public_id or "channel" in self.errors:
            return None
        rows = Consumer.objects.filter(public_id=public_id).only("public_id", "channel_id", "deleted_at")
        found = list((rows.filter(channel=channel) if channel else rows.live()).order_by("-deleted_at", "-pk")[:2])
        if not found:
            raise forms.ValidationError("There is no such consumer.")
        if channel is None and len(found) > 1:
            raise forms.ValidationError("Several channels have a consumer with this id: say which channel.")
        return next((one for one in found if one.deleted_at is None), found[0])

    def clean_since(self) -> datetime | None:
        return self._time("since")

    def clean_until(self) -> datetime | None:
        return self._time("until")

    def clean(self) -> None:
        told = self.cleaned_data
        status, since, until = (told.get(name) for name in ("status", "since", "until"))
        if since and until and since >= until:
            self.add_error("until", "The end is before the beginning.")
        if told.get("consumer") and status and status not in OF_JOBS:
            self.add_error("status", "A consumer has deliveries: choose one of their states.")
        if told.get("error") and status not in ("", None, DEAD):
            self.add_error("error", "Words are looked for among dead letters only.")
        if told.get("reason") and status in {**OF_MESSAGES, **FOR_LATER}:
            self.add_error("reason", "A delivery has a reason: choose one of their states, or any.")
        if not self.sight.letters:
            self._refuse_letters(told)

    def _refuse_letters(self, told: dict[str, Any]) -> None:
        """Words, and a reason of any state, are looked for among them."""
        if told.get("error"):
            self.add_error("error", "You may not see dead letters.")
        if told.get("reason") and not told.get("status"):
            self.add_error("reason", "You may not see dead letters: choose a state of deliveries.")

    @property
    def asked(self) -> Asked:
        told = self.cleaned_data
        channel, consumer = told["channel"], told["consumer"]
        channel_id = channel.pk if channel else consumer.channel_id if consumer else None
        return Asked(
            message_id=told["id"],
            channel_id=channel_id,
            consumer_id=consumer.pk if consumer else None,
            status=told["status"],
            since=told["since"],
            until=told["until"],
            reason=told["reason"],
            words=told["error"],
            older_than=Cursor.of(self.data.get("before", "")),
            with_later=self.sight.scheduled,
        )

    def _public_id(self, name: str) -> str:
        text = str(self.cleaned_data[name])
        if text and not PUBLIC_ID.fullmatch(text):
            raise forms.ValidationError(_NOT_AN_ID)
        return text

    def _time(self, name: str) -> datetime | None:
        """Of UTC. What is a little before or after it must be a time as well."""
        at: datetime | None = self.cleaned_data[name]
        if at is None:
            return None
        if not 1970 <= at.year < 9999:
            raise forms.ValidationError("No message can be of that time.")
        return at.replace(tzinfo=UTC)
