"""Alerts: what is too deep or too old now, and every episode there was, with who was told when."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import flatten
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.timesince import timesince
from unfold.contrib.filters.admin import ChoicesRadioFilter, RadioFilter
from unfold.decorators import display

from channels_app.admin.endless import EndlessListAdmin
from channels_app.admin.filters import ChannelFilter
from channels_app.admin.links import address, link, listed
from channels_app.admin.pages import Act
from channels_app.admin.states import State, written
from channels_app.models import Channel
from dlq_app.admin.asking import CHANNEL
from dlq_app.admin.durations import in_words
from dlq_app.models import AlertKind, DeadLetter, DeadLetterAlert, DeadLetterPolicy

# More would push the rest of the overview out of sight.
MOST_SHOWN = 10
MINUTE = timedelta(minutes=1)
TONES = {"open": "danger", "over": "success"}


@dataclass(frozen=True)
class Shown:
    """An open alert on the overview; `url`: the channel's letters."""

    channel: Channel
    text: str
    since: str
    url: str


def open_alerts() -> list[Shown]:
    """The newest, and one more than are shown: whether it came says whether there are others."""
    rows = _named(DeadLetterAlert.objects.filter(ended_at__isnull=True)).order_by("-pk")[: MOST_SHOWN + 1]
    return [
        Shown(alert.channel, sentence(alert), _since(alert), listed(DeadLetter, **{CHANNEL: alert.channel_id}))
        for alert in rows
    ]


def _since(alert: DeadLetterAlert) -> str:
    now = timezone.now()
    lasted = f", for {timesince(alert.began_at, now)}" if now - alert.began_at > MINUTE else ""
    return f"Since {written(alert.began_at)}{lasted}"


def sentence(alert: DeadLetterAlert) -> str:
    if alert.kind == AlertKind.DEPTH:
        letters = "letter" if alert.threshold == 1 else "letters"
        return f"More than {alert.threshold:,} open {letters}: {alert.value:,} when it began."
    return f"The oldest letter has waited for more than {in_words(alert.threshold)}."


class OpenFilter(RadioFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [("open", "Open"), ("over", "Over")]

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(ended_at__isnull=self.value() == "open") if self.value() in TONES else queryset


@admin.register(DeadLetterAlert)
class DeadLetterAlertAdmin(EndlessListAdmin):
    list_display = ("began_at", "channel_link", "state", "what", "ended_at", "told_began", "told_over")
    list_filter = (OpenFilter, ("kind", ChoicesRadioFilter), ("channel", ChannelFilter))
    lookups = frozenset({OpenFilter.parameter_name, "kind__exact", CHANNEL})
    fields = (
        ("channel_link", "kind"),
        ("limit", "measured"),
        ("began_at", "told_began"),
        ("ended_at", "told_over"),
    )
    readonly_fields = tuple(flatten(fields))
    change_form_outer_before_template = "channels_app/admin/engine.html"

    class Media:
        css = {"all": ("dlq_app/letters.css",)}

    def get_queryset(self, request: HttpRequest) -> QuerySet[DeadLetterAlert]:
        rows: QuerySet[DeadLetterAlert] = super().get_queryset(request)
        return _named(rows)

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        alert = kwargs["obj"]
        more = {"acts": self._acts(request, alert), "engine": State(_word(alert), TONES[_word(alert)], _whole(alert))}
        return super().render_change_form(request, {**context, **more}, *args, **kwargs)

    def _acts(self, request: HttpRequest, alert: DeadLetterAlert) -> list[Act]:
        """The pages beside it that this member of staff may see."""
        letters = listed(DeadLetter, **{CHANNEL: alert.channel_id})
        beside = {
            DeadLetter: Act("Dead letters of the channel", "mark_email_unread", letters),
            DeadLetterPolicy: Act("Policy", "policy", address(DeadLetterPolicy(pk=alert.channel_id))),
        }
        of = self.admin_site.get_model_admin
        return [act for model, act in beside.items() if of(model).has_view_or_change_permission(request)]

    @admin.display(description="channel")
    def channel_link(self, alert: DeadLetterAlert) -> str:
        return link(alert.channel)

    @display(description="state", label=TONES)  # type: ignore[untyped-decorator]
    def state(self, alert: DeadLetterAlert) -> str:
        return _word(alert)

    @admin.display(description="what")
    def what(self, alert: DeadLetterAlert) -> str:
        return sentence(alert)

    @admin.display(description="told it began")
    def told_began(self, alert: DeadLetterAlert) -> str:
        """When the operations webhook took the news."""
        return written(alert.began_told_at) or "-"

    @admin.display(description="told it is over")
    def told_over(self, alert: DeadLetterAlert) -> str:
        return written(alert.ended_told_at) or "-"

    @admin.display(description="threshold")
    def limit(self, alert: DeadLetterAlert) -> str:
        return _measure(alert, alert.threshold)

    @admin.display(description="when it began")
    def measured(self, alert: DeadLetterAlert) -> str:
        return _measure(alert, alert.value)


def _named(alerts: QuerySet[DeadLetterAlert]) -> QuerySet[DeadLetterAlert]:
    return alerts.prefetch_related(Prefetch("channel", Channel.objects.only("public_id")))


def _word(alert: DeadLetterAlert) -> str:
    return "over" if alert.ended_at else "open"


def _whole(alert: DeadLetterAlert) -> str:
    if alert.ended_at:
        return f"{sentence(alert)} From {written(alert.began_at)} to {written(alert.ended_at)}."
    return f"{sentence(alert)} Since {written(alert.began_at)}."


def _measure(alert: DeadLetterAlert, value: int) -> str:
    return f"{value:,} open" if alert.kind == AlertKind.DEPTH else in_words(value)
