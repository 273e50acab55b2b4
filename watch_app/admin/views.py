"""The dashboard's page, and the numbers that the page asks for while it is open."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_safe

from broker_project.api.problems import CONTENT_TYPE, problem
from broker_project.lib.errors import BrokerError
from watch_app.admin import shown
from watch_app.admin.asked import Asked, asked
from watch_app.admin.choices import choices
from watch_app.admin.figures import figures
from watch_app.admin.sight import VIEW, Sight, sight_of
from watch_app.now import now
from watch_app.series import series, since, span_of
from watch_app.ticker import events

TEMPLATE = "watch_app/admin/dashboard.html"
MOST_EVENTS = 12


@gzip_page
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    if not request.user.has_perm(VIEW):
        raise PermissionDenied
    sight = sight_of(request.user)
    frame = {**admin.site.each_context(request), "title": "Dashboard", "is_fullwidth": "1"}
    try:
        chosen = asked(request.GET)
    except BrokerError as refusal:
        more = {"refusal": refusal.detail, **choices(Asked(), sight)}
        return TemplateResponse(request, TEMPLATE, {**frame, **more}, status=refusal.status)
    return TemplateResponse(request, TEMPLATE, {**frame, **choices(chosen, sight), **_first_look(chosen, sight)})


@never_cache
@gzip_page
@require_safe
def data(request: HttpRequest) -> HttpResponse:
    """Says no in words, not by a log-in page: a script asks."""
    if not (request.user.is_active and request.user.is_staff and request.user.has_perm(VIEW)):
        return _problem(403, "permission_denied", "You may not see the dashboard, or are logged out.")
    try:
        chosen = asked(request.GET)
    except BrokerError as refusal:
        return _problem(refusal.status, refusal.code, refusal.detail)
    return JsonResponse(_refreshed(chosen, sight_of(request.user)))


def _first_look(chosen: Asked, sight: Sight) -> dict[str, Any]:
    found = series(chosen.scope, span_of(chosen.range, timezone.now()))
    happened = events(chosen.scope, MOST_EVENTS, sight.events)
    return shown.first_look(found, now(chosen.scope), happened, chosen, sight)


def _refreshed(chosen: Asked, sight: Sight) -> dict[str, Any]:
    """The points that the page does not have yet, all the figures, and the lists as the templates write them."""
    span = span_of(chosen.range, timezone.now())
    found, current = since(chosen.scope, chosen.after or span.start, span), now(chosen.scope)
    lists = shown.lists(found, current, events(chosen.scope, MOST_EVENTS, sight.events), chosen, sight)
    return {
        **shown.numbers(found, current, figures(found, current, sight), sight),
        "parts": {name: render_to_string(f"watch_app/admin/parts/{name}.html", lists) for name in shown.PARTS},
    }


def _problem(status: int, code: str, detail: str) -> JsonResponse:
    return JsonResponse(problem(status, code, detail), status=status, content_type=CONTENT_TYPE)
