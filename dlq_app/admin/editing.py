"""The content of a letter as a form, and what an edit has changed."""

from difflib import unified_diff
from typing import Any

from django import forms
from django.db.models import BinaryField
from django.db.models.functions import Substr
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from broker_project.lib.errors import BrokerError
from broker_project.lib.metadata import InvalidHeader, check_name, check_size, check_value
from channels_app.admin import payloads
from channels_app.admin.messages import SIZE
from channels_app.models import Message
from dlq_app.admin.deeds import NoteForm
from dlq_app.edit import Content

# What is longer, or no text, is not typed into: it stays as it was.
MOST_EDITED = 256 * 1024
MOST_LINES = 2_000
_NOT_LEGAL = "A header is a line: a legal name, a colon, a value. 16 KiB in all."


class EditForm(NoteForm):
    """`payload` is there for texts that are not too long."""

    field_order = ("payload", "content_type", "headers", "note")

    payload = forms.CharField(strip=False, widget=UnfoldAdminTextareaWidget(attrs={"rows": 16, "spellcheck": "false"}))
    content_type = forms.RegexField(
        r"\A[\x21-\x7e][\x20-\x7e]{0,254}\Z", label="Content type", widget=UnfoldAdminTextInputWidget()
    )
    headers = forms.CharField(
        label="Headers, a line each", required=False, widget=UnfoldAdminTextareaWidget(attrs={"rows": 4})
    )

    def __init__(self, message: Message, posted: Any = None) -> None:
        self.text = editable_text(message)
        headers = "\n".join(f"{name}: {value}" for name, value in message.header_texts.items())
        super().__init__(
            posted, initial={"payload": self.text, "content_type": message.content_type, "headers": headers}
        )
        if self.text is None:
            del self.fields["payload"]

    def clean_payload(self) -> str:
        """A browser sends every end of a line as two characters."""
        typed = str(self.cleaned_data["payload"])
        return typed if "\r" in (self.text or "") else typed.replace("\r\n", "\n")

    def clean_headers(self) -> dict[str, str]:
        try:
            headers = typed_headers(self.cleaned_data["headers"])
            check_size(headers)
        except InvalidHeader as error:
            raise forms.ValidationError(_NOT_LEGAL) from error
        except BrokerError as error:
            raise forms.ValidationError(error.detail) from error
        return headers

    @property
    def content(self) -> Content:
        """What was not changed is left as it was, byte for byte: a browser sends other ends of lines than it got."""
        told = self.cleaned_data
        payload = told.get("payload")
        was = typed_headers(self.initial["headers"])
        return Content(
            payload=None if payload in (None, self.text) else str(payload).encode(),
            content_type=told["content_type"] if "content_type" in self.changed_data else None,
            headers=None if told["headers"] == was else told["headers"],
        )


def typed_headers(text: str) -> dict[str, str]:
    return dict(_header(line) for line in text.splitlines() if line.strip())


def _header(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon:
        raise InvalidHeader
    return check_name(name.strip()), check_value(value.strip().encode().decode("latin1"))


def editable_text(message: Message) -> str | None:
    head = _head(message, MOST_EDITED + 1)
    shown = payloads.show(head, size=len(head))
    return head.decode() if shown.kind != "Binary" and len(head) <= MOST_EDITED else None


def difference(before: Message, after: Message) -> str:
    """Line by line, as both are shown; nothing for what cannot be compared."""
    texts = [_shown(message) for message in (before, after)]
    if any(text is None or text.count("\n") > MOST_LINES for text in texts):
        return ""
    first, second = (str(text).splitlines() for text in texts)
    return "\n".join(unified_diff(first, second, "as it was", "as it was sent again", lineterm=""))


def _shown(message: Message) -> str | None:
    size = Message.objects.filter(pk=message.pk).values_list(SIZE, flat=True).first() or 0
    shown = payloads.show(_head(message, payloads.SHOWN_BYTES), size=size)
    headers = "".join(f"{name}: {value}\n" for name, value in message.header_texts.items())
    if shown.kind == "Binary" or message.expunged_at:
        return None
    return f"Content-Type: {message.content_type}\n{headers}\n{shown.text}"


def _head(message: Message, most: int) -> bytes:
    head = Substr("payload", 1, most, output_field=BinaryField())
    return bytes(Message.objects.filter(pk=message.pk).values_list(head, flat=True).first() or b"")
