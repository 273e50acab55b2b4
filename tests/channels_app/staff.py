"""Members of staff at the admin's pages."""

from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from channels_app.models.registry_object import RegistryObject


def log_in(*permissions: str) -> Client:
    """A client of a member of staff who may do just this: "view_channel", "reveal_token", …"""
    user = User.objects.create_user("staff", password="secret", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def page(row: Any, name: str = "change") -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_{name}", args=[row.pk])


def pages(model: Any, name: str = "changelist") -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{name}")


def opened(client: Client, address: str) -> dict[str, Any]:
    """What a browser would post from the form at this address."""
    form = client.get(address).context["adminform"].form
    values = {bound.name: bound.value() for bound in form}
    return {name: _typed(value) for name, value in values.items() if value not in (None, False)}


def _typed(value: Any) -> Any:
    return ",".join(value) if isinstance(value, list) else value


def history(row: RegistryObject | Any) -> list[str]:
    entries = LogEntry.objects.filter(content_type__model=row._meta.model_name, object_id=str(row.pk))
    return [entry.get_change_message() for entry in entries.order_by("pk")]
