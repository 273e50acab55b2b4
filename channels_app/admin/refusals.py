"""What staff see at an address that is not there, or not for them: a page of the admin, with a way back."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from broker_project.api import problems


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if _is_inside_admin(request):
        return _page(request, 404, "Not found", "There is nothing at this address.")
    return problems.not_found(request, exception)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    if _is_inside_admin(request):
        return _page(request, 403, "Not allowed", "Your permissions do not open this page.")
    return problems.permission_denied(request, exception)


def _is_inside_admin(request: HttpRequest) -> bool:
    """The admin's frame names its lists: only for those who are inside it."""
    return request.path.startswith("/admin/") and admin.site.has_permission(request)


def _page(request: HttpRequest, status: int, title: str, text: str) -> HttpResponse:
    shown = {**admin.site.each_context(request), "title": title, "text": text}
    return render(request, "channels_app/admin/refusal.html", shown, status=status)
