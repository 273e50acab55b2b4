"""Consumers, with the way back to their channel."""

from typing import Any
from urllib.parse import urlsplit

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from unfold.contrib.filters.admin import BooleanRadioFilter, ChoicesRadioFilter
from unfold.decorators import display

from channels_app.admin.filters import ChannelFilter, StateFilter
from channels_app.admin.forms import ConsumerForm
from channels_app.admin.pages import Act
from channels_app.admin.registry import LIMITS, RETRY, RegistryAdmin
from channels_app.models import Channel, Consumer
from channels_app.models.registry_object import RegistryQuerySet

COLOURS = {"push": "info", "pull": "success"}


def only(condition: str) -> str:
    """Shows a field where the form says so. A page that is only looked at has no form, and shows all."""
    return f"typeof type === 'undefined' || {condition}"


@admin.register(Consumer)
class ConsumerAdmin(RegistryAdmin):
    form = ConsumerForm
    fixed = ("channel", "public_id")
    sealed = ("token", "channel__token")
    list_display = ("public_id", "name", "channel_link", "kind", "delivers_to", "changed_at")
    list_filter = (
        StateFilter,
        ("type", ChoicesRadioFilter),
        ("channel", ChannelFilter),
        ("circuit_breaker", BooleanRadioFilter),
    )
    autocomplete_fields = ("channel",)
    conditional_fields = {
        "callback_url": only("type == 'push'"),
        "timeout_seconds": only("type == 'push'"),
        "circuit_breaker": only("type == 'push'"),
        "ack_mode": only("type == 'push'"),
        "ack_timeout_seconds": only("type == 'pull' || ack_mode == 'explicit'"),
        "pull_mode": only("type == 'pull'"),
        "unacked_cap": only("type == 'pull' && pull_mode == 'index'"),
    }
    topics = [
        (
            "Delivery",
            {
                "fields": (
                    "type",
                    "callback_url",
                    "timeout_seconds",
                    "pull_mode",
                    "unacked_cap",
                    "ack_mode",
                    "ack_timeout_seconds",
                    "circuit_breaker",
                )
            },
        ),
        ("Limits", {"fields": ("max_in_flight", *LIMITS)}),
        RETRY,
    ]

    def get_queryset(self, request: HttpRequest) -> RegistryQuerySet:
        return super().get_queryset(request).select_related("channel")

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "channel":
            kwargs["queryset"] = Channel.objects.live().defer("token")
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    @admin.display(description="channel", ordering="channel__public_id")
    def channel_link(self, consumer: Consumer) -> str:
        return format_html('<a href="{}" class="text-link">{}</a>', address_of(consumer.channel), consumer.channel)

    @display(description="type", ordering="type", label=COLOURS)  # type: ignore[untyped-decorator]
    def kind(self, consumer: Consumer) -> str:
        return consumer.type

    @admin.display(description="delivers to")
    def delivers_to(self, consumer: Consumer) -> str | None:
        """The host: the rest of a callback URL may hold a secret."""
        return urlsplit(consumer.callback_url).netloc or None

    def acts(self, request: HttpRequest, row: Any) -> list[Act]:
        channel = Act(f"Channel {row.channel}", "hub", address_of(row.channel))
        return [channel, *super().acts(request, row)]


def address_of(channel: Channel) -> str:
    return reverse("admin:channels_app_channel_change", args=[channel.pk])
