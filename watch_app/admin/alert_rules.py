"""The rules that alerts follow: which number, of whom, how bad, for how long, and who is told."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import BooleanRadioFilter, ChoicesDropdownFilter
from unfold.widgets import UnfoldAdminTextInputWidget

from broker_project.lib.durations import in_words
from channels_app.admin.links import link
from channels_app.admin.lists import LongListAdmin
from channels_app.alerts.words import limit
from channels_app.models import Channel, Consumer
from watch_app.models import AlertRule

UNITS = (
    "Open dead letters: how many. Tries that succeed: percent, and less is an alert."
    " All others: seconds, and more is an alert."
)


class AlertRuleForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        labels = {
            "hold_seconds": "For (seconds)",
            "least_tries": "With at least so many tries",
            "to_webhook": "Post to the operations webhook",
            "to_email": "Send e-mail",
            "addresses": "E-mail addresses",
        }
        help_texts = {
            "name": "Shown with every alert, and as the label `rule` of the metric.",
            "kind": "What is measured.",
            "channel": "Blank, with no consumer either: everywhere, each on its own.",
            "consumer": "The rule that is closest decides: a consumer's before its channel's before one for all.",
            "threshold": UNITS,
            "hold_seconds": "It has to hold for so long to begin, and to be over for so long to end. 0: at once.",
            "least_tries": "Of the last five minutes; only for tries that succeed.",
            "enabled": "Switched off, its open alerts end.",
            "addresses": "Comma separated. Blank: those of the setting ALERT_EMAILS.",
        }
        widgets = {"addresses": UnfoldAdminTextInputWidget()}


@admin.register(AlertRule)
class AlertRuleAdmin(LongListAdmin):
    form = AlertRuleForm
    list_display = ("name", "enabled", "kind", "about", "limit", "held_for", "to_webhook", "to_email")
    list_filter = (("enabled", BooleanRadioFilter), ("kind", ChoicesDropdownFilter))
    list_select_related = ()
    sortable_by = ()
    ordering = ("pk",)
    search_fields = ("name",)
    search_help_text = "Part of a name"
    autocomplete_fields = ("channel", "consumer")
    actions = None
    fieldsets = (
        (None, {"fields": ("name", "enabled")}),
        ("What", {"fields": ("kind", "threshold", "hold_seconds", "least_tries")}),
        ("Of whom", {"fields": ("channel", "consumer")}),
        ("Who is told", {"fields": ("to_webhook", "to_email", "addresses")}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[AlertRule]:
        """Names in queries of their own, without tokens."""
        rows: QuerySet[AlertRule] = super().get_queryset(request)
        consumers = Consumer.objects.only("public_id", "channel_id")
        return rows.prefetch_related(
            Prefetch("channel", Channel.objects.only("public_id")), Prefetch("consumer", consumers)
        )

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        rows = db_field.related_model.objects.live().defer("token")
        return super().formfield_for_foreignkey(db_field, request, **{**kwargs, "queryset": rows})

    @admin.display(description="of whom")
    def about(self, rule: AlertRule) -> str:
        row = rule.consumer or rule.channel
        return link(row) if row else "all"

    @admin.display(description="threshold")
    def limit(self, rule: AlertRule) -> str:
        return limit(rule.kind, rule.threshold)

    @admin.display(description="for")
    def held_for(self, rule: AlertRule) -> str:
        return in_words(rule.hold_seconds) if rule.hold_seconds else "at once"
