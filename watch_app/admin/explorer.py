"""The explorer's first page: search, and what was found. Every search has an address that can be sent to others."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from channels_app.admin import navigation
from channels_app.admin.navigation import Page
from channels_app.admin.pages import Act
from watch_app.admin.addresses import add_page
from watch_app.admin.explorer_form import SearchForm
from watch_app.admin.sight import sight_of
from watch_app.explorer.found import Found
from watch_app.explorer.search import Results, search

VIEW, SEND = "channels_app.view_message", "channels_app.add_message"
EXPLORER = "admin:watch_explorer"

navigation.GROUPS["Traffic"].insert(0, Page("Explorer", "travel_explore", EXPLORER, VIEW))


def life_address(channel: str, message_id: str) -> str:
    return reverse("admin:watch_explorer_life", args=[channel, message_id])


def framed(request: HttpRequest, template: str, *, status: int = 200, **shown: Any) -> TemplateResponse:
    frame = admin.site.each_context(request)
    return TemplateResponse(request, f"watch_app/explorer/{template}.html", {**frame, **shown}, status=status)


def allow(request: HttpRequest, permission: str) -> None:
    if not request.user.has_perm(permission):
        raise PermissionDenied


@require_safe
def search_view(request: HttpRequest) -> HttpResponse:
    allow(request, VIEW)
    form = SearchForm(request.GET, sight=sight_of(request.user))
    results = search(form.asked) if form.is_valid() else None
    return framed(
        request,
        "search",
        title="Explorer",
        form=form,
        is_asked=any(request.GET.get(name) for name in form.fields),
        results=results,
        rows=[{"found": found, "url": _address(found)} for found in results.found] if results else [],
        older_address=_older(request, results),
        newest_address=_again(request) if request.GET.get("before") else "",
        acts=[Act("Send a test message", "send", reverse("admin:watch_explorer_send"))]
        if request.user.has_perm(SEND)
        else [],
    )


def _address(found: Found) -> str:
    return life_address(found.channel, found.message_id)


def _older(request: HttpRequest, results: Results | None) -> str:
    return _again(request, before=str(results.older)) if results and results.older else ""


def _again(request: HttpRequest, **more: str) -> str:
    """The same search from another place on; a form sends its empty fields along, an address needs none."""
    asked = {name: str(value) for name, value in request.GET.items() if value and name != "before"}
    return f"{reverse(EXPLORER)}?{urlencode({**asked, **more})}"


add_page("explorer/", search_view, "watch_explorer")
