"""Channels, with the way to their consumers."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, OuterRef, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.text import capfirst
from unfold.contrib.filters.admin import BooleanRadioFilter, ChoicesRadioFilter

from channels_app.admin.engine import EngineAdmin
from channels_app.admin.filters import PARAMETER, StateFilter
from channels_app.admin.forms import RetryForm
from channels_app.admin.links import address, listed
from channels_app.admin.navigation import title_of
from channels_app.admin.pages import Act
from channels_app.admin.registry import LIMITS, RETRY, Deletion
from channels_app.admin.states import ChannelHoldFilter
from channels_app.models import Channel, Consumer, Message
from channels_app.models.registry_object import RegistryQuerySet

# Lists that can be filtered by channel; an app with rows of its own adds its list.
LISTS_OF_CHANNEL: list[tuple[Any, str]] = [(Message, "mail")]
# Models with one page a channel, under the channel's own key.
PAGES_OF_CHANNEL: list[tuple[Any, str]] = []


def with_consumer_count(channels: RegistryQuerySet) -> RegistryQuerySet:
    """A subquery: the index on live consumers answers it for the rows of one page only."""
    live = Consumer.objects.live().filter(channel=OuterRef("pk")).order_by().values("channel")
    return channels.annotate(consumer_count=Coalesce(Subquery(live.values(count=Count("pk"))), 0))


@admin.register(Channel)
class ChannelAdmin(EngineAdmin):
    form = RetryForm
    list_display = ("public_id", "name", "delivery", "consumers", "retries", "delayed_messaging", "changed_at")
    list_filter = (
        StateFilter,
        ChannelHoldFilter,
        ("delayed_messaging", BooleanRadioFilter),
        ("dead_letters", ChoicesRadioFilter),
    )
    topics = [
        RETRY,
        ("Limits", {"fields": (*LIMITS, "max_backlog")}),
        ("Time", {"fields": ("max_age_seconds", "dead_letters", "retention_days")}),
        ("Answers", {"fields": ("answers",)}),
        ("Later", {"fields": ("delayed_messaging", "partitions", "spread_seconds", "release_per_second")}),
    ]

    def get_queryset(self, request: HttpRequest) -> RegistryQuerySet:
        return with_consumer_count(super().get_queryset(request).select_related("state"))

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        """Whoever picks a channel for a consumer is offered live ones."""
        if request.path == reverse("admin:autocomplete"):
            queryset = queryset.live()
        found: tuple[Any, bool] = super().get_search_results(request, queryset, search_term)
        return found

    @admin.display(description="consumers")
    def consumers(self, channel: Any) -> str:
        return format_html('<a href="{}" class="text-link">{}</a>', consumers_of(channel), channel.consumer_count)

    def acts(self, request: HttpRequest, row: Any) -> list[Act]:
        links = [Act(f"Consumers ({row.consumer_count})", "cell_tower", consumers_of(row))]
        if request.user.has_perm("channels_app.add_consumer") and not row.deleted_at:
            add = reverse("admin:channels_app_consumer_add")
            links.append(Act("Add a consumer", "add", f"{add}?{urlencode({'channel': row.pk})}"))
        for model, icon in LISTS_OF_CHANNEL:
            if self.admin_site.get_model_admin(model).has_view_or_change_permission(request):
                links.append(Act(title_of(model), icon, listed(model, channel__id__exact=row.pk)))
        for model, icon in PAGES_OF_CHANNEL:
            if self.admin_site.get_model_admin(model).has_view_or_change_permission(request):
                links.append(Act(capfirst(model._meta.verbose_name), icon, address(model(pk=row.pk))))
        return [*links, *super().acts(request, row)]

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Deletion:
        rows, counts, refused, protected = super().get_deleted_objects(objs, request)
        consumers = sum(channel.consumer_count for channel in objs)
        return rows, {**counts, "consumers": consumers}, refused, protected


def consumers_of(channel: Channel) -> str:
    query = {"channel__id__exact": str(channel.pk)} | ({PARAMETER: "all"} if channel.deleted_at else {})
    return f"{reverse('admin:channels_app_consumer_changelist')}?{urlencode(query)}"
