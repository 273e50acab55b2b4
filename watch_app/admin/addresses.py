"""Pages of the admin that belong to no model; each adds its own, and the theme asks for them."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.urls import URLPattern, path

PAGES: list[URLPattern] = []


def add_page(route: str, view: Callable[..., Any], name: str) -> None:
    """Below /admin/watch/, for staff who are logged in; what else they need the view says."""
    PAGES.append(path(f"watch/{route}", admin.site.admin_view(view), name=name))


# The theme's way to pages that belong to no model.
admin.site.extra_urls = lambda: list(PAGES)  # type: ignore[attr-defined]
