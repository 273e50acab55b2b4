"""Alerts: what is wrong now, and every episode there was, with who was told when."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import flatten
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.contrib.filters.admin import ChoicesDropdownFilter, RadioFilter
from unfold.decorators import display

from channels_app.admin import navigation
from channels_app.admin.filters import ChannelFilter
from channels_app.admin.links import address, link, listed
from channels_app.admin.lists import LongListAdmin
from channels_app.admin.pages import Act
from channels_app.admin.states import State, written
from channels_app.alerts.news import is_given_up
from channels_app.alerts.words import limit, measure, sentence
from channels_app.models import Alert, AlertKind
from dlq_app.models import DeadLetter, DeadLetterPolicy
from watch_app.models import AlertRule

CHANNEL, CONSUMER = "channel__id__exact", "consumer__id__exact"
TONES = {"open": "danger", "over": "success"}
_LETTERS = frozenset({AlertKind.DEPTH, AlertKind.AGE})

navigation.GROUPS["Watch"] += [(Alert, "notifications"), (AlertRule, "rule")]


class OpenFilter(RadioFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [("open", "Open"), ("over", "Over")]

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(ended_at__isnull=self.value() == "open") if self.value() in TONES else queryset


@admin.register(Alert)
class AlertAdmin(LongListAdmin):
    """Episodes are looked at; rules are changed."""

    list_display = ("began_at", "rule", "state", "about_link", "what", "ended_at", "told_began", "told_over")
    list_filter = (OpenFilter, ("kind", ChoicesDropdownFilter), ("channel", ChannelFilter))
    list_select_related = ()
    # The query has its own, which its index serves: open ones first.
    ordering = ()
    sortable_by = ()
    actions = None
    lookups = frozenset({OpenFilter.parameter_name, "kind__exact", CHANNEL, CONSUMER})
    fields = (
        ("rule", "kind"),
        ("about_link", "state"),
        ("limit", "measured"),
        ("began_at", "ended_at"),
        ("told_began", "told_over"),
        ("mailed_began", "mailed_over"),
    )
    readonly_fields = tuple(flatten(fields))
    change_form_outer_before_template = "channels_app/admin/engine.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Alert]:
        return Alert.objects.begun().named().open_first()

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        return lookup in self.lookups

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        alert = kwargs["obj"]
        more = {"acts": self._acts(request, alert), "engine": State(_word(alert), TONES[_word(alert)], _whole(alert))}
        return super().render_change_form(request, {**context, **more}, *args, **kwargs)

    def _acts(self, request: HttpRequest, alert: Alert) -> list[Act]:
        """The pages beside it that this member of staff may see."""
        of = self.admin_site.get_model_admin
        return [act for model, act in _beside(alert) if of(model).has_view_or_change_permission(request)]

    @admin.display(description="about")
    def about_link(self, alert: Alert) -> str:
        return link(alert.consumer or alert.channel, alert.about) if alert.channel else alert.part or "-"

    @display(description="state", label=TONES)  # type: ignore[untyped-decorator]
    def state(self, alert: Alert) -> str:
        return _word(alert)

    @admin.display(description="what")
    def what(self, alert: Alert) -> str:
        return sentence(alert)

    @admin.display(description="posted that it began")
    def told_began(self, alert: Alert) -> str:
        """When the operations webhook took the news."""
        return written(alert.began_posted_at) or "-"

    @admin.display(description="posted that it is over")
    def told_over(self, alert: Alert) -> str:
        return written(alert.ended_posted_at) or "-"

    @admin.display(description="mailed that it began")
    def mailed_began(self, alert: Alert) -> str:
        return written(alert.began_mailed_at) or _not_mailed(alert)

    @admin.display(description="mailed that it is over")
    def mailed_over(self, alert: Alert) -> str:
        return written(alert.ended_mailed_at) or (_not_mailed(alert) if alert.ended_at else "-")

    @admin.display(description="threshold")
    def limit(self, alert: Alert) -> str:
        return limit(alert.kind, alert.threshold)

    @admin.display(description="when it began")
    def measured(self, alert: Alert) -> str:
        return measure(alert.kind, alert.value)


def _beside(alert: Alert) -> list[tuple[Any, Act]]:
    beside: list[tuple[Any, Act]] = []
    if alert.kind in _LETTERS and alert.channel_id:
        letters = listed(DeadLetter, **{CHANNEL: alert.channel_id})
        beside += [
            (DeadLetter, Act("Dead letters of the channel", "mark_email_unread", letters)),
            (DeadLetterPolicy, Act("Policy", "policy", address(DeadLetterPolicy(pk=alert.channel_id)))),
        ]
    rule = alert.rule_key.removeprefix("rule-")
    if rule.isdigit():
        beside.append((AlertRule, Act("Rule", "rule", address(AlertRule(pk=int(rule))))))
    return beside


def _word(alert: Alert) -> str:
    return "over" if alert.ended_at else "open"


def _not_mailed(alert: Alert) -> str:
    """A mail server that does not take it is a thing to know."""
    if not alert.mail_tries:
        return "-"
    return "not taken, given up" if is_given_up(alert, timezone.now()) else f"not taken yet, tries: {alert.mail_tries}"


def _whole(alert: Alert) -> str:
    if alert.ended_at:
        return f"{sentence(alert)} From {written(alert.began_at)} to {written(alert.ended_at)}."
    return f"{sentence(alert)} Since {written(alert.began_at)}."
