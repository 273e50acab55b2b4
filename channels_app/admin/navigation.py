"""The admin's sidebar: what this member of staff may see."""

from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from django.urls import reverse
from django_celery_beat.models import PeriodicTask

from channels_app.models import ApiKey, Channel, Consumer, DeliveryJob, Message, Producer

Item = dict[str, Any]


def build(request: HttpRequest) -> list[dict[str, Any]]:
    groups = {
        "Messaging": _models(request, (Channel, "hub"), (Consumer, "cell_tower"), (Producer, "campaign")),
        "Scheduling": _models(request, (apps.get_model("scheduling_app.RecurringSchedule"), "event_repeat")),
        "Traffic": _models(request, (Message, "mail"), (DeliveryJob, "work")),
        "Access": _models(request, (ApiKey, "key"), (User, "person"), (Group, "group")),
        "Operations": _models(request, (PeriodicTask, "schedule")) + _elsewhere(),
    }
    return [{"title": title, "items": items} for title, items in groups.items() if items]


def _models(request: HttpRequest, *entries: tuple[Any, str]) -> list[Item]:
    return [
        _item(_title(model), icon, reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"))
        for model, icon in entries
        if admin.site.get_model_admin(model).has_view_or_change_permission(request)
    ]


def _elsewhere() -> list[Item]:
    """Never the current page, whatever the theme makes of their paths."""
    entries = [
        _item("Workers (Flower)", "monitoring", settings.FLOWER_URL),
        _item("API documents", "menu_book", reverse("docs")),
        _item("Health", "ecg_heart", "/readyz"),
    ]
    return [{**entry, "active": False} for entry in entries]


def _title(model: Any) -> str:
    name = str(model._meta.verbose_name_plural)
    return name[:1].upper() + name[1:]


def _item(title: str, icon: str, link: str) -> Item:
    return {"title": title, "icon": icon, "link": link}
