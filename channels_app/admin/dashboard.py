"""The admin's first page: how much there is of what."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse

from channels_app.admin.lists import MOST_COUNTED, count_up_to_a_limit
from channels_app.admin.navigation import Page
from channels_app.models import ApiKey, Channel, Consumer, Producer

admin.site.index_title = "Overview"
admin.site.index_template = "channels_app/admin/index.html"

# Pages of other apps that the first page leads to.
POINTERS: list[Page] = []


def build(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    return {
        **context,
        "pointers": [page for page in POINTERS if request.user.has_perm(page.permission)],
        "cards": [_card(model) for model in (Channel, Consumer, Producer, ApiKey) if _seen(request, model)],
    }


def _seen(request: HttpRequest, model: Any) -> bool:
    return admin.site.get_model_admin(model).has_view_or_change_permission(request)


def _card(model: Any) -> dict[str, str]:
    count = count_up_to_a_limit(model.objects.live())
    return {
        "title": str(model._meta.verbose_name_plural),
        "count": f"{count:,}" + ("+" if count == MOST_COUNTED else ""),
        "url": reverse(f"admin:channels_app_{model._meta.model_name}_changelist"),
    }
