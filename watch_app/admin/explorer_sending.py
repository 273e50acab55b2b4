"""A message to try things out with, typed into a page: to a channel, or to one of its consumers."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from broker_project.lib.errors import BrokerError
from broker_project.lib.metadata import InvalidHeader, check_size
from channels_app import selectors
from channels_app.models import Channel, Consumer, Message, Producer
from dlq_app.admin.editing import typed_headers
from watch_app.admin.addresses import add_page
from watch_app.admin.explorer import SEND, VIEW, allow, framed, life_address
from watch_app.explorer.sending import Draft, send

_NOT_LEGAL = "A header is a line: a legal name, a colon, a value. 16 KiB in all."
_LEAST, _MOST = -(2**31), 2**31 - 1


def _line(label: str, *, help_text: str = "", **more: Any) -> forms.CharField:
    widget = UnfoldAdminTextInputWidget(attrs={"autocomplete": "off", "spellcheck": "false"})
    return forms.CharField(label=label, help_text=help_text, max_length=255, widget=widget, **more)


def _area(label: str, rows: int, **more: Any) -> forms.CharField:
    return forms.CharField(
        label=label, widget=UnfoldAdminTextareaWidget(attrs={"rows": rows, "spellcheck": "false"}), **more
    )


class SendForm(forms.Form):
    channel = _line("Channel")
    consumer = _line("Consumer", required=False, help_text="It alone gets the message. Blank: all of the channel's.")
    producer = _line("Producer", help_text="In whose name it is sent.")
    payload = _area("Payload", 8, strip=False)
    content_type = forms.RegexField(
        r"\A[\x21-\x7e][\x20-\x7e]{0,254}\Z",
        label="Content type",
        initial="application/json",
        widget=UnfoldAdminTextInputWidget(),
    )
    headers = _area("Headers, a line each", 3, required=False)
    priority = forms.IntegerField(
        label="Priority", initial=0, min_value=_LEAST, max_value=_MOST, widget=UnfoldAdminTextInputWidget()
    )

    def clean_channel(self) -> Channel:
        return self._named(selectors.get_channel, "channel")

    def clean_producer(self) -> Producer:
        return self._named(selectors.get_producer, "producer")

    def clean_consumer(self) -> Consumer | None:
        channel = self.cleaned_data.get("channel")
        if not self.cleaned_data["consumer"] or channel is None:
            return None
        return self._named(lambda public_id: selectors.get_consumer(channel, public_id), "consumer")

    def clean_payload(self) -> str:
        """A browser sends every end of a line as two characters."""
        return str(self.cleaned_data["payload"]).replace("\r\n", "\n")

    def clean_headers(self) -> dict[str, str]:
        try:
            headers = typed_headers(self.cleaned_data["headers"])
            check_size(headers)
        except InvalidHeader as error:
            raise forms.ValidationError(_NOT_LEGAL) from error
        except BrokerError as error:
            raise forms.ValidationError(error.detail) from error
        return headers

    def send(self, by: str) -> Message | None:
        """None if it cannot be sent so: the form says why."""
        if not self.is_valid():
            return None
        told = self.cleaned_data
        try:
            return send(Draft(**{**told, "payload": told["payload"].encode()}), by=by)
        except BrokerError as refusal:
            self.add_error(None, refusal.detail)
            return None

    def _named(self, get: Any, name: str) -> Any:
        try:
            return get(self.cleaned_data[name].strip())
        except BrokerError as refusal:
            raise forms.ValidationError(refusal.detail) from refusal


@require_http_methods(["GET", "HEAD", "POST"])
def send_view(request: HttpRequest) -> HttpResponse:
    """Who sends one looks at its life next."""
    allow(request, VIEW)
    allow(request, SEND)
    form = SendForm(request.POST) if request.method == "POST" else SendForm(initial=_asked(request))
    if form.is_bound:
        with transaction.atomic():
            message = form.send(request.user.get_username())
            if message is not None:
                admin.site.get_model_admin(Message).log_addition(request, message, _noted(form))
        if message is not None:
            return redirect(life_address(message.channel.public_id, message.message_id))
    return framed(request, "send", title="Send a test message", form=form)


def _asked(request: HttpRequest) -> dict[str, str]:
    """What an address fills in."""
    return {name: request.GET[name] for name in ("channel", "consumer", "producer") if name in request.GET}


def _noted(form: SendForm) -> str:
    told = form.cleaned_data
    to = f"consumer {told['consumer']} of channel" if told["consumer"] else "channel"
    return f"Sent as a test to {to} {told['channel']}, as producer {told['producer']}"


add_page("explorer/send/", send_view, "watch_explorer_send")
