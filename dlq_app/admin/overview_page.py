"""The first page on a bad day: what the open letters have in common, whose they are, and whether they grow."""

from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone

from channels_app.admin.links import listed
from channels_app.admin.navigation import Page
from channels_app.models import Alert
from dlq_app import overview
from dlq_app.admin import raised
from dlq_app.admin.asking import AGE, AGES, CAUSE, CHANNEL, CONSUMER, REASON
from dlq_app.causes import causes
from dlq_app.filters import LetterFilter
from dlq_app.models import DeadLetter

VIEW, VIEW_ALERTS = "dlq_app.view_deadletter", "channels_app.view_alert"
OVERVIEW = Page("Overview", "monitoring", "admin:dlq_app_deadletter_overview", VIEW)
# A bar that is there can be seen, and labels have room on a phone.
LEAST_PERCENT = 3
MOST_CHANNELS = 20
LABEL_EVERY = 4


@dataclass(frozen=True)
class Bar:
    """`size` in percent of the biggest."""

    label: str
    count: str
    size: int
    url: str = ""


def overview_view(request: HttpRequest) -> HttpResponse:
    if not request.user.has_perm(VIEW):
        raise PermissionDenied
    growth, ages = overview.growth_and_age(timezone.now())
    found, holders = causes(LetterFilter()), overview.holders()
    found_alerts = raised.open_alerts()
    totals = overview.totals()
    shown = {
        "title": "Dead letters: overview",
        "causes": [{"cause": cause, "url": listed(DeadLetter, **{CAUSE: cause.fingerprint})} for cause in found.found],
        "looked_at": None if found.is_complete else found.looked_at,
        "holders": [_holder(holder) for holder in holders.first],
        "most_holders": overview.MOST_CONSUMERS if len(holders.first) == overview.MOST_CONSUMERS else None,
        "reasons": [{"total": one, "url": listed(DeadLetter, **{REASON: one.key})} for one in totals.reasons],
        "channels": [
            {"total": one, "url": listed(DeadLetter, **{CHANNEL: one.key})} for one in totals.channels[:MOST_CHANNELS]
        ],
        "total": holders.total,
        "growth": [_hour(span, place, _most(growth)) for place, span in enumerate(growth)],
        "grown": _in_all(growth),
        "ages": [_age(span, word, name, _most(ages)) for span, (word, name) in zip(ages, AGES, strict=True)],
        "all_url": listed(DeadLetter),
        "alerts": found_alerts[: raised.MOST_SHOWN],
        "more_alerts": len(found_alerts) > raised.MOST_SHOWN,
        "alerts_url": listed(Alert) if request.user.has_perm(VIEW_ALERTS) else None,
    }
    frame = admin.site.each_context(request)
    return TemplateResponse(request, "dlq_app/admin/overview.html", {**frame, **shown})


def _holder(holder: overview.Holder) -> dict[str, Any]:
    return {
        "holder": holder,
        "url": listed(DeadLetter, **{CONSUMER: holder.consumer_id}),
        "channel_url": listed(DeadLetter, **{CHANNEL: holder.channel_id}),
    }


def _hour(span: overview.Span, place: int, most: int) -> Bar:
    clock = f"{span.since:%H:%M}"
    return Bar(
        f"{clock} UTC" if place % LABEL_EVERY == 0 else "", f"From {clock} UTC: {_written(span)}", _size(span, most)
    )


def _age(span: overview.Span, word: str, name: str, most: int) -> Bar:
    return Bar(name, _written(span), _size(span, most), listed(DeadLetter, **{AGE: word}))


def _size(span: overview.Span, most: int) -> int:
    return max(LEAST_PERCENT, round(100 * span.count / most)) if span.count else 0


def _most(spans: list[overview.Span]) -> int:
    return max(span.count for span in spans)


def _written(span: overview.Span) -> str:
    return f"{'about ' if span.is_about else ''}{span.count:,}"


def _in_all(spans: list[overview.Span]) -> str:
    about = any(span.is_about for span in spans)
    return f"{'about ' if about else ''}{sum(span.count for span in spans):,}"
