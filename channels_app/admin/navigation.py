"""The admin's sidebar: what this member of staff may see."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from django.urls import reverse
from django_celery_beat.models import PeriodicTask

from channels_app.models import ApiKey, Channel, Consumer, DeliveryJob, Message, Operation, Producer

Item = dict[str, Any]


@dataclass(frozen=True)
class Page:
    """A page that is not a list: who may see it has this permission."""

    title: str
    icon: str
    name: str
    permission: str
    # Whether pages below its address are none of its own.
    stands_alone: bool = False

    @property
    def address(self) -> str:
        return reverse(self.name)


# Models with their icons, and pages; an app with pages of its own adds them.
GROUPS: dict[str, list[Page | tuple[Any, str]]] = {
    "Watch": [],
    "Messaging": [(Channel, "hub"), (Consumer, "cell_tower"), (Producer, "campaign")],
    "Traffic": [(Message, "mail"), (DeliveryJob, "work")],
    "Dead letters": [],
    "Access": [(ApiKey, "key"), (User, "person"), (Group, "group")],
    "Operations": [(Operation, "published_with_changes"), (PeriodicTask, "schedule")],
}


def build(request: HttpRequest) -> list[dict[str, Any]]:
    groups = {title: _items(request, entries) for title, entries in GROUPS.items()}
    groups["Operations"] += _elsewhere()
    return [{"title": title, "items": items} for title, items in groups.items() if items]


def _items(request: HttpRequest, entries: list[Page | tuple[Any, str]]) -> list[Item]:
    pages = [entry for entry in entries if isinstance(entry, Page)]
    models = [entry for entry in entries if not isinstance(entry, Page)]
    shown = [_page(request, page) for page in pages if request.user.has_perm(page.permission)]
    lists = _models(request, models)
    # The theme takes a page for a part of the list below whose address it stands.
    at_a_page = any(item["link"] == request.path for item in shown)
    return [*shown, *({**item, "active": False} if at_a_page else item for item in lists)]


def _page(request: HttpRequest, page: Page) -> Item:
    item = _item(page.title, page.icon, page.address)
    return {**item, "active": request.path == page.address} if page.stands_alone else item


def _models(request: HttpRequest, entries: list[tuple[Any, str]]) -> list[Item]:
    return [
        _item(title_of(model), icon, reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"))
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


def title_of(model: Any) -> str:
    name = str(model._meta.verbose_name_plural)
    return name[:1].upper() + name[1:]


def _item(title: str, icon: str, link: str) -> Item:
    return {"title": title, "icon": icon, "link": link}
