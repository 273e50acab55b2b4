"""The form that asks for a report."""

from datetime import UTC, datetime, time, timedelta
from typing import Any

from django import forms
from django.utils import timezone
from unfold.widgets import UnfoldAdminTextInputWidget, UnfoldBooleanSwitchWidget

from broker_project.lib.errors import BrokerError
from reports_app import services
from reports_app.models import Report

WEEK = timedelta(days=7)


def _moment(label: str) -> forms.DateTimeField:
    widget = UnfoldAdminTextInputWidget(attrs={"type": "datetime-local"})
    return forms.DateTimeField(label=label, widget=widget, error_messages={"invalid": "This is no time."})


class AskForm(forms.Form):
    start = _moment("From (UTC)")
    end = _moment("To (UTC), not included")
    channels = forms.CharField(
        label="Channels", required=False, widget=UnfoldAdminTextInputWidget(),
        help_text="Their ids, by commas; empty: all of them.",
    )  # fmt: skip
    compare = forms.BooleanField(
        label="Compare with the period before", required=False, widget=UnfoldBooleanSwitchWidget()
    )
    sla_seconds = forms.FloatField(
        label="In time means delivered within (seconds)", initial=60, min_value=0.001, max_value=86_400,
        widget=UnfoldAdminTextInputWidget(attrs={"inputmode": "decimal"}),
    )  # fmt: skip

    def clean_channels(self) -> list[str]:
        names = (name.strip() for name in self.cleaned_data["channels"].split(","))
        return list(dict.fromkeys(name for name in names if name))

    def ask(self, by: str) -> Report | None:
        """None if it cannot be asked so: the form says why."""
        if not self.is_valid():
            return None
        try:
            return services.ask_for(by=by, **self.cleaned_data)
        except BrokerError as refusal:
            self.add_error(None, refusal.detail)
            return None


def last_week() -> dict[str, Any]:
    """Up to midnight, to begin with."""
    midnight = datetime.combine(timezone.now().astimezone(UTC).date(), time())
    return {"start": f"{midnight - WEEK:%Y-%m-%dT%H:%M}", "end": f"{midnight:%Y-%m-%dT%H:%M}"}
