"""How each channel wants its dead letters looked after: how long they stay, what goes back by itself, what alarms."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Prefetch, Q, QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import BooleanRadioFilter, RadioFilter

from broker_project.lib.durations import in_words
from channels_app.admin.channels import PAGES_OF_CHANNEL
from channels_app.admin.links import address, listed
from channels_app.admin.lists import LongListAdmin
from channels_app.admin.pages import Act
from channels_app.admin.states import State
from channels_app.models import Alert, Channel
from channels_app.models.channel import DeadLetters
from dlq_app import policies
from dlq_app.admin.asking import CHANNEL, is_number
from dlq_app.models import DeadLetter, DeadLetterPolicy

COLUMNS = ("retention_days", "auto_redrive", "alert_depth", "alert_age_seconds")
KEEPS = State("keeps", "success", "The channel keeps its dead letters.")
DROPS = State(
    "drops", "warning", "The channel keeps no dead letters: nothing of this has an effect until its own page says keep."
)

PAGES_OF_CHANNEL.append((DeadLetterPolicy, "policy"))


class PolicyForm(forms.ModelForm):  # type: ignore[type-arg]
    """Says what was changed since it was opened: what somebody else changed meanwhile stays as they left it."""

    class Meta:
        labels = {
            "retention_days": "Kept for (days)",
            "auto_redrive": "Requeued when a consumer recovers",
            "alert_depth": "Alert above (open letters)",
            "alert_age_seconds": "Alert when the oldest is older than (seconds)",
        }
        help_texts = {
            "channel": "A channel without a policy of its own has all of this off.",
            "retention_days": (
                "Then a letter is removed with its history, open or not; its job stays dead."
                " Blank: as the setting DEAD_LETTER_RETENTION_DAYS says."
            ),
            "auto_redrive": (
                "When a consumer is resumed or its breaker closes, the letters of its trouble go back by themselves."
            ),
            "alert_depth": "Blank: no alert.",
            "alert_age_seconds": "3600 is an hour, 86400 a day. Blank: no alert.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in COLUMNS:
            # A page that is only looked at has no fields.
            if name in self.fields:
                self.fields[name].show_hidden_initial = True

    def values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in self.changed_data if name in COLUMNS}


class AlertsFilter(RadioFilter):
    title = "alerts"
    parameter_name = "alerts"

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [("on", "With a threshold"), ("off", "Without")]

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        off = Q(alert_depth__isnull=True, alert_age_seconds__isnull=True)
        return {"on": queryset.exclude(off), "off": queryset.filter(off)}.get(self.value() or "", queryset)


@admin.register(DeadLetterPolicy)
class DeadLetterPolicyAdmin(LongListAdmin):
    """Every channel's page is here, whether or not it has a row: without one, all is off."""

    form = PolicyForm
    list_display = ("channel", "kept_for", "auto_redrive", "alert_depth", "alert_age")
    list_filter = (("auto_redrive", BooleanRadioFilter), AlertsFilter)
    list_select_related = ()
    sortable_by = ()
    search_fields = ("channel__public_id",)
    search_help_text = "Part of a channel's id"
    autocomplete_fields = ("channel",)
    actions = None
    change_form_outer_before_template = "channels_app/admin/engine.html"
    topics = (
        ("Retention", {"fields": ("retention_days",)}),
        ("Recovery", {"fields": ("auto_redrive",)}),
        ("Alerts", {"fields": ("alert_depth", "alert_age_seconds")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[DeadLetterPolicy]:
        """Names in a query of their own, without tokens."""
        rows: QuerySet[DeadLetterPolicy] = super().get_queryset(request)
        return rows.prefetch_related(Prefetch("channel", Channel.objects.only("public_id")))

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> DeadLetterPolicy | None:
        channels = Channel.objects.only("public_id", "deleted_at", "dead_letters")
        channel = channels.filter(pk=int(object_id)).first() if is_number(object_id) else None
        if channel is None:
            return None
        policy = policies.policy_of(channel)
        policy.channel = channel
        return policy

    def get_fieldsets(self, request: HttpRequest, obj: DeadLetterPolicy | None = None) -> Any:
        return self.topics if obj else (("Channel", {"fields": ("channel",)}), *self.topics)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        return super().formfield_for_foreignkey(
            db_field, request, **{**kwargs, "queryset": Channel.objects.live().defer("token")}
        )

    def has_change_permission(self, request: HttpRequest, obj: DeadLetterPolicy | None = None) -> bool:
        """What belongs to a deleted channel is only looked at."""
        return super().has_change_permission(request, obj) and not (obj and obj.channel.deleted_at)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """It is emptied instead: the history stays."""
        return False

    def save_model(self, request: HttpRequest, obj: DeadLetterPolicy, form: PolicyForm, change: bool) -> None:
        values = form.values()
        if values or not change:
            policies.put(obj.channel, values=values, by=request.user.get_username())

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        policy = kwargs.get("obj")
        if policy:
            keeps = policy.channel.dead_letters == DeadLetters.KEEP
            acts = self._acts(request, policy.channel)
            context |= {"acts": acts, "engine": KEEPS if keeps else DROPS, "show_save_and_add_another": False}
        return super().render_change_form(request, context, *args, **kwargs)

    def _acts(self, request: HttpRequest, channel: Channel) -> list[Act]:
        """The pages beside it that this member of staff may see."""
        beside = {
            Channel: Act(f"Channel {channel}", "hub", address(channel)),
            DeadLetter: Act("Dead letters", "mark_email_unread", listed(DeadLetter, **{CHANNEL: channel.pk})),
            Alert: Act("Alerts", "notifications", listed(Alert, **{CHANNEL: channel.pk})),
        }
        of = self.admin_site.get_model_admin
        return [act for model, act in beside.items() if of(model).has_view_or_change_permission(request)]

    @admin.display(description="kept for", empty_value="as set for all")
    def kept_for(self, policy: DeadLetterPolicy) -> str | None:
        days = policy.retention_days
        return f"{days:,} day{'' if days == 1 else 's'}" if days else None

    @admin.display(description="alert age")
    def alert_age(self, policy: DeadLetterPolicy) -> str | None:
        return in_words(policy.alert_age_seconds) if policy.alert_age_seconds else None
