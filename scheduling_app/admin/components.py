"""Dapr's pubsub components: what their clients may do."""

from typing import Any

from django.contrib import admin
from django.db.models.functions import Now
from django.http import HttpRequest
from unfold.contrib.filters.admin import BooleanRadioFilter

from channels_app.admin import navigation
from channels_app.admin.lists import LongListAdmin
from scheduling_app.models import Component

navigation.GROUPS["Messaging"].append((Component, "extension"))


@admin.register(Component)
class ComponentAdmin(LongListAdmin):
    """Its name is what clients call it by: typed once, fixed afterwards."""

    list_display = ("name", "enable_delayed_messaging", "create_topics", "changed_at")
    list_filter = (("enable_delayed_messaging", BooleanRadioFilter), ("create_topics", BooleanRadioFilter))
    search_fields = ("name",)
    search_help_text = "Part of a name"
    ordering = ("name",)
    fields = ("name", "enable_delayed_messaging", "create_topics")

    def get_readonly_fields(self, request: HttpRequest, obj: Component | None = None) -> tuple[str, ...]:
        return ("name", "created_at", "changed_at") if obj else ()

    def get_fields(self, request: HttpRequest, obj: Component | None = None) -> tuple[str, ...]:
        return (*self.fields, "created_at", "changed_at") if obj else self.fields

    def save_model(self, request: HttpRequest, obj: Component, form: Any, change: bool) -> None:
        obj.changed_at = Now()
        super().save_model(request, obj, form, change)
        obj.refresh_from_db()
