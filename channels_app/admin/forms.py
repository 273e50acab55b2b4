"""Forms of the registry: what may be typed, in plain words. Saving is the services' business."""

from typing import Any

from django import forms
from django.conf import settings
from django.core.validators import RegexValidator
from unfold.widgets import UnfoldAdminPasswordToggleWidget, UnfoldAdminTextInputWidget

from broker_project.lib.callback_url import check_callback_url, may_register
from broker_project.lib.conditions import Condition
from broker_project.lib.egress import allowed_from
from broker_project.lib.patterns import TOKEN
from channels_app.admin.words import HELP, LABELS, NEW_ID, RETRY_COLUMNS
from channels_app.errors import EgressDenied
from channels_app.models.consumer import ConsumerType
from channels_app.reasons import is_answer

CHANGED_MEANWHILE = (
    "Somebody changed this while the form was open. Nothing was saved: open it again to see what it is now."
)
NOT_COLUMNS = {"etag", "channel", "public_id"}


class RegistryForm(forms.ModelForm):  # type: ignore[type-arg]
    """`etag` is the state that the form was opened with; a token is typed for a new object only."""

    etag = forms.CharField(widget=forms.HiddenInput)
    token = forms.CharField(
        required=False,
        help_text="Leave blank to have one made. It can be revealed later.",
        validators=[RegexValidator(rf"^{TOKEN.pattern}\Z", "1 to 255 visible ASCII characters, no spaces.")],
        widget=UnfoldAdminPasswordToggleWidget(attrs={"autocomplete": "new-password"}),
    )

    class Meta:
        labels = LABELS
        help_texts = HELP

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "name" in self.fields:
            self.fields["name"].required = False
        if self.instance.pk:
            del self.fields["token"]
            self.fields["etag"].initial = self.instance.etag
        else:
            del self.fields["etag"]
            self.fields["public_id"].help_text = NEW_ID

    def clean(self) -> dict[str, Any]:
        if "etag" in self.fields and self.cleaned_data.get("etag") != self.instance.etag:
            raise forms.ValidationError(CHANGED_MEANWHILE, code="changed_meanwhile")
        if self.cleaned_data.get("rate_burst") and not self.cleaned_data.get("rate_per_second"):
            self.add_error("rate_burst", "A burst needs a rate.")
        return self.cleaned_data

    def values(self) -> dict[str, Any]:
        """The columns that the form changes."""
        changed = {name: self.cleaned_data[name] for name in self.changed_data if name not in NOT_COLUMNS}
        return changed if self.instance.pk else {**changed, "token": self.cleaned_data["token"] or None}

    def condition(self) -> Condition:
        etag = self.cleaned_data.get("etag")
        return Condition(etags=frozenset({etag})) if etag else Condition()

    def _get_validation_exclusions(self) -> set[str]:
        """Without deleted_at Django would skip the check that an id is free among the live rows."""
        exclusions: set[str] = super()._get_validation_exclusions()  # type: ignore[misc]
        return exclusions - {"deleted_at"}


class RetryForm(RegistryForm):
    class Meta(RegistryForm.Meta):
        widgets = {"non_retriable": UnfoldAdminTextInputWidget()}

    def clean_non_retriable(self) -> list[str]:
        answers: list[str] = self.cleaned_data["non_retriable"] or []
        unknown = [answer for answer in answers if not is_answer(answer)]
        if unknown:
            raise forms.ValidationError(f"Neither a status code from 300 to 599 nor a reason: {', '.join(unknown)}")
        return answers


class ConsumerForm(RetryForm):
    class Meta(RetryForm.Meta):
        help_texts = {
            **HELP,
            **{name: f"{HELP[name]} Blank: as the channel says." for name in RETRY_COLUMNS},
        }

    def clean_non_retriable(self) -> Any:
        return super().clean_non_retriable() or None

    def clean_callback_url(self) -> str:
        url: str = self.cleaned_data["callback_url"]
        if url and "callback_url" in self.changed_data:
            check_callback_url(url)
            if not may_register(url, allowed_from(settings.EGRESS_ALLOW)):
                raise forms.ValidationError(EgressDenied().detail, code="egress_denied")
        return url

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if cleaned.get("type") == ConsumerType.PUSH and cleaned.get("callback_url") == "":
            self.add_error("callback_url", "A push consumer needs a callback URL.")
        return cleaned
