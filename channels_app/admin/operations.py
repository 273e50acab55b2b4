"""Long acts on many rows: how far each is, and the buttons that stop it and let it go on."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import flatten
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.views.decorators.http import require_GET, require_POST
from unfold.decorators import display

from broker_project.lib.errors import BrokerError
from channels_app.admin.endless import EndlessListAdmin
from channels_app.admin.links import address, link
from channels_app.admin.pages import Act
from channels_app.models import Channel, Operation
from channels_app.models.operation import OPEN, RESUMABLE, OperationStatus
from channels_app.operations import acts

TONES = {"RUNNING": "info", "STOPPING": "warning", "STOPPED": "warning", "DONE": "success", "FAILED": "danger"}


@dataclass(frozen=True)
class Deed:
    name: str
    title: str
    icon: str
    noted: str
    do: Callable[..., None]


STOP = Deed("stop", "Stop", "stop_circle", "Asked to stop", acts.stop)
RESUME = Deed("resume", "Resume", "play_circle", "Resumed", acts.resume)
DEEDS = {deed.name: deed for deed in (STOP, RESUME)}


@admin.register(Operation)
class OperationAdmin(EndlessListAdmin):
    list_display = ("public_id", "kind", "channel_link", "state", "so_far", "asked_by", "created_at", "finished_at")
    search_fields = ("public_id",)
    search_help_text = "An operation's id, whole"
    fields = (
        ("kind", "channel_link"),
        ("asked_by", "created_at"),
        ("stopped_by", "started_at"),
        ("resumed_by", "finished_at"),
        "asked_for",
        "last_error",
    )
    readonly_fields = tuple(flatten(fields))
    change_form_outer_before_template = "channels_app/admin/operation.html"

    class Media:
        css = {"all": ("channels_app/operation.css",)}
        js = ("channels_app/operation.js",)

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view
        own = [
            path("<int:pk>/progress/", view(self.progress_view), name="channels_app_operation_progress"),
            path("<int:pk>/<str:name>/act/", view(self.act_view), name="channels_app_operation_act"),
        ]
        return [*own, *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Operation]:
        rows: QuerySet[Operation] = super().get_queryset(request)
        return rows.prefetch_related(Prefetch("channel", Channel.objects.only("public_id")))

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        wanted = search_term.strip()
        return queryset.filter(public_id=wanted) if wanted else queryset, False

    def has_act_permission(self, request: HttpRequest) -> bool:
        """Nobody types into an operation; who may change them may stop and resume them."""
        return request.user.has_perm("channels_app.change_operation")

    @method_decorator(require_GET)
    def progress_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """What the page asks for while the operation is under way."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        return JsonResponse(shown(get_object_or_404(Operation, pk=pk)))

    @method_decorator(require_POST)
    def act_view(self, request: HttpRequest, pk: int, name: str) -> HttpResponse:
        if not self.has_act_permission(request) or name not in DEEDS:
            raise PermissionDenied
        operation = get_object_or_404(Operation, pk=pk)
        try:
            with transaction.atomic():
                DEEDS[name].do(operation=operation, by=request.user.get_username())
                self.log_change(request, operation, DEEDS[name].noted)
        except BrokerError as refusal:
            self.message_user(request, refusal.detail, messages.WARNING)
        return redirect(address(operation))

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        operation = kwargs["obj"]
        more = {
            "acts": self._acts(operation) if self.has_act_permission(request) else [],
            "progress": shown(operation),
            "progress_url": reverse("admin:channels_app_operation_progress", args=[operation.pk]),
            "tone": TONES[operation.status],
        }
        return super().render_change_form(request, {**context, **more}, *args, **kwargs)

    def _acts(self, operation: Operation) -> list[Act]:
        can = {STOP: operation.status == OperationStatus.RUNNING, RESUME: operation.status in RESUMABLE}
        return [_button(operation, deed) for deed, possible in can.items() if possible]

    @admin.display(description="channel")
    def channel_link(self, operation: Operation) -> str:
        return link(operation.channel) if operation.channel else "-"

    @display(description="status", label=TONES)  # type: ignore[untyped-decorator]
    def state(self, operation: Operation) -> str:
        return operation.status

    @admin.display(description="progress")
    def so_far(self, operation: Operation) -> str:
        return words(operation)

    @admin.display(description="asked for")
    def asked_for(self, operation: Operation) -> str:
        text = json.dumps(operation.parameters, indent=2, ensure_ascii=False)
        return format_html('<pre class="operation-asked">{}</pre>', text)


def shown(operation: Operation) -> dict[str, Any]:
    progress = operation.progress
    return {
        "status": operation.status,
        "words": words(operation),
        "percent": None if progress is None else round(100 * progress),
        "isOpen": operation.status in OPEN,
    }


def words(operation: Operation) -> str:
    of = "" if operation.total is None else f" of {operation.total:,}"
    failed = f", {operation.failed:,} not" if operation.failed else ""
    return f"{operation.done:,}{of} done{failed}"


def _button(operation: Operation, deed: Deed) -> Act:
    url = reverse("admin:channels_app_operation_act", args=[operation.pk, deed.name])
    return Act(deed.title, deed.icon, url, posts=True)
