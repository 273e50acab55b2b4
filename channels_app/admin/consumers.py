"""Consumers, with the way back to their channel."""

from typing import Any
from urllib.parse import urlsplit

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from unfold.contrib.filters.admin import BooleanRadioFilter, ChoicesRadioFilter
from unfold.decorators import display

from channels_app import services
from channels_app.admin.devices import DevicesAdmin
from channels_app.admin.engine import Deed
from channels_app.admin.filters import ChannelFilter, StateFilter
from channels_app.admin.forms import ConsumerForm
from channels_app.admin.links import address, link
from channels_app.admin.pages import Act, show_secret
from channels_app.admin.registry import LIMITS, RETRY
from channels_app.admin.states import ConsumerHoldFilter, written
from channels_app.models import Channel, Consumer
from channels_app.models.consumer import ConsumerType, PullMode
from channels_app.models.registry_object import RegistryQuerySet

# After a rotation both secrets sign for a day: time to hand the new one over.
OVERLAP_SECONDS = 24 * 3600.0


def rotate_secret(consumer: Consumer) -> Consumer:
    return services.rotate_secret(consumer, overlap_seconds=OVERLAP_SECONDS)


ROTATE = Deed(
    "rotate_secret",
    "Rotate signing secret",
    "autorenew",
    "A new secret signs from now on. The one before signs along for 24 hours; one still older stops at once.",
    "Rotated the signing secret",
    rotate_secret,
)

COLOURS = {"push": "info", "pull": "success"}


def _pace(row: Consumer) -> str:
    if row.type == ConsumerType.PUSH:
        return f"Deliveries at once: up to {row.state.slots}. Failures in a row: {row.state.streak}."
    if row.pull_mode == PullMode.INDEX:
        return f"It may read up to {row.unacked_cap:,} messages ahead of its acknowledgements."
    return f"It may have up to {row.in_flight_cap:,} jobs at once."


def only(condition: str) -> str:
    """Shows a field where the form says so. A page that is only looked at has no form, and shows all."""
    return f"typeof type === 'undefined' || {condition}"


@admin.register(Consumer)
class ConsumerAdmin(DevicesAdmin):
    form = ConsumerForm
    fixed = ("channel", "public_id")
    sealed = ("token", "signing_secret", "previous_secret", "channel__token")
    list_display = ("public_id", "name", "channel_link", "delivery", "kind", "delivers_to", "changed_at")
    list_filter = (
        StateFilter,
        ConsumerHoldFilter,
        ("type", ChoicesRadioFilter),
        ("channel", ChannelFilter),
        ("circuit_breaker", BooleanRadioFilter),
    )
    actions = (*DevicesAdmin.actions, "rotate_secret")
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
        return super().get_queryset(request).select_related("state", "channel__state")

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "channel":
            kwargs["queryset"] = Channel.objects.live().defer("token")
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    @admin.display(description="channel", ordering="channel__public_id")
    def channel_link(self, consumer: Consumer) -> str:
        return link(consumer.channel)

    @display(description="type", ordering="type", label=COLOURS)  # type: ignore[untyped-decorator]
    def kind(self, consumer: Consumer) -> str:
        return consumer.type

    @admin.display(description="delivers to")
    def delivers_to(self, consumer: Consumer) -> str | None:
        """The host: the rest of a callback URL may hold a secret."""
        return urlsplit(consumer.callback_url).netloc or None

    @admin.action(description="Rotate the signing secrets of the selected", permissions=["change"])
    def rotate_secret(self, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        rows = list(queryset)
        done = self.perform(request, rows, ROTATE)
        if "confirmed" in request.POST and len(rows) == 1 and self.has_reveal_permission(request, rows[0]):
            return self._show_secret(request, rows[0])
        return done

    def _show_secret(self, request: HttpRequest, consumer: Consumer) -> Any:
        consumer.refresh_from_db(fields=["signing_secret"])
        title, note = f"Signing secret of {consumer}", "The one before signs along for 24 hours."
        return show_secret(
            request, self, title=title, note=note, secret=consumer.signing_secret, back=address(consumer)
        )

    def deeds(self, row: Any) -> list[Deed]:
        return [*super().deeds(row), *([ROTATE] if row.type == ConsumerType.PUSH else [])]

    def engine_facts(self, row: Any) -> list[str]:
        facts, until = [_pace(row)], row.previous_secret_until
        if until and until > timezone.now():
            facts.append(f"The signing secret before signs along until {written(until)}.")
        return facts

    def acts(self, request: HttpRequest, row: Any) -> list[Act]:
        channel = Act(f"Channel {row.channel}", "hub", address(row.channel))
        return [channel, *super().acts(request, row)]
