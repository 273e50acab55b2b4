"""Reports: asked for, watched while they are made, read and taken away."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import flatten
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html, format_html_join
from django.utils.safestring import mark_safe
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET, require_POST
from unfold.contrib.filters.admin import ChoicesRadioFilter, RadioFilter
from unfold.decorators import display

from broker_project.lib.errors import BrokerError
from channels_app.admin import navigation
from channels_app.admin.endless import EndlessListAdmin
from channels_app.admin.links import address
from channels_app.admin.pages import Act
from reports_app import making, services
from reports_app.admin import files
from reports_app.admin.asking import AskForm, last_week
from reports_app.models import Report
from reports_app.models.report import OPEN, ReportStatus

TONES = {"QUEUED": "warning", "RUNNING": "info", "DONE": "success", "FAILED": "danger"}
NAME = "admin:reports_app_report"

navigation.GROUPS["Operations"].insert(0, (Report, "bar_chart"))


class AskedByFilter(RadioFilter):
    title = "asked by"
    parameter_name = "by"

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [("night", "The night"), ("people", "People"), ("me", "Me")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case "night":
                return queryset.exclude(night=None)
            case "people":
                return queryset.filter(night=None)
            case "me":
                return queryset.filter(asked_by=request.user.get_username())
            case _:
                return queryset


@admin.register(Report)
class ReportAdmin(EndlessListAdmin):
    list_display = ("title", "channels", "state", "so_far", "asked_by", "created_at", "finished_at")
    list_filter = (("status", ChoicesRadioFilter), AskedByFilter)
    lookups = frozenset({"status__exact", AskedByFilter.parameter_name})
    fields = (("asked_by", "created_at"), ("started_at", "finished_at"), "asked_for", "error", "public_id")
    readonly_fields = tuple(flatten(fields))
    list_before_template = "reports_app/admin/list_top.html"
    change_form_outer_before_template = "reports_app/admin/report.html"

    class Media:
        css = {"all": ("channels_app/operation.css", "reports_app/report.css")}
        js = ("channels_app/operation.js",)

    def get_urls(self) -> list[Any]:
        view, name = self.admin_site.admin_view, "reports_app_report"
        own = [
            path("new/", view(self.new_view), name=f"{name}_new"),
            path("<int:pk>/progress/", view(self.progress_view), name=f"{name}_progress"),
            path("<int:pk>/again/", view(self.again_view), name=f"{name}_again"),
            path("<int:pk>/page/", view(self.page_view), name=f"{name}_page"),
            path("<int:pk>/files/<str:file>", view(self.file_view), name=f"{name}_file"),
        ]
        return [*own, *super().get_urls()]

    def has_ask_permission(self, request: HttpRequest) -> bool:
        """Nobody types into a report; who may add them may ask for them."""
        return request.user.has_perm("reports_app.add_report")

    def get_fields(self, request: HttpRequest, obj: Report | None = None) -> Any:
        return [name for name in self.fields if name != "error" or (obj and obj.error)]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        acts = [Act("New report", "add_chart", reverse(f"{NAME}_new"))] if self.has_ask_permission(request) else []
        return super().changelist_view(
            request, {"acts": acts, "has_worker": making.has_worker(), **(extra_context or {})}
        )

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Where whoever knows Django's admin looks for it."""
        if not self.has_ask_permission(request):
            raise PermissionDenied
        return redirect(f"{NAME}_new")

    def new_view(self, request: HttpRequest) -> HttpResponse:
        if not self.has_ask_permission(request):
            raise PermissionDenied
        form = AskForm(request.POST) if request.method == "POST" else AskForm(initial=last_week())
        with transaction.atomic():
            report = form.ask(request.user.get_username()) if form.is_bound else None
            if report:
                self.log_addition(request, report, "Asked for")
                return redirect(self._after_asking(request, report))
        # With the model's options, the theme's way here would end at the list.
        frame = {**self.admin_site.each_context(request), "model_admin": self, "title": "New report"}
        return TemplateResponse(
            request, "reports_app/admin/new.html", {**frame, "form": form, "has_worker": making.has_worker()}
        )

    def _after_asking(self, request: HttpRequest, report: Report) -> str:
        if self.has_view_or_change_permission(request):
            return address(report)
        self.message_user(request, "The report was asked for.", messages.SUCCESS)
        return reverse("admin:index")

    @method_decorator(require_GET)
    def progress_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """What the page asks for while the report is made."""
        return JsonResponse(shown(self._seen(request, pk)))

    @method_decorator(require_POST)
    def again_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        if not self.has_ask_permission(request):
            raise PermissionDenied
        report = self._seen(request, pk)
        try:
            with transaction.atomic():
                services.ask_again(report=report, by=request.user.get_username())
                self.log_change(request, report, "Asked for again")
        except BrokerError as refusal:
            self.message_user(request, refusal.detail, messages.WARNING)
        return redirect(address(report))

    @method_decorator([require_GET, xframe_options_sameorigin])
    def page_view(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        return files.page(self._seen(request, pk))

    @method_decorator(require_GET)
    def file_view(self, request: HttpRequest, pk: int, file: str) -> HttpResponseBase:
        return files.download(self._seen(request, pk), file)

    def _seen(self, request: HttpRequest, pk: int) -> Report:
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        return get_object_or_404(Report, pk=pk)

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        report: Report = kwargs["obj"]
        sizes = files.sizes(report)
        more = {
            "acts": self._acts(request, report),
            "progress": shown(report),
            "progress_url": reverse(f"{NAME}_progress", args=[report.pk]),
            "tone": TONES[report.status],
            "has_worker": making.has_worker(),
            "page_url": reverse(f"{NAME}_page", args=[report.pk]) if files.PAGE in sizes else "",
            "files": [
                {"name": name, "url": reverse(f"{NAME}_file", args=[report.pk, name]), "size": size}
                for name, size in sizes.items()
            ],
        }
        return super().render_change_form(request, {**context, **more}, *args, **kwargs)

    def _acts(self, request: HttpRequest, report: Report) -> list[Act]:
        if report.status == ReportStatus.FAILED and self.has_ask_permission(request):
            return [Act("Ask for it again", "replay", reverse(f"{NAME}_again", args=[report.pk]), posts=True)]
        return []

    @admin.display(description="report")
    def title(self, report: Report) -> str:
        return format_html('<span class="report-title">{}</span>', report.title)

    @admin.display(description="channels")
    def channels(self, report: Report) -> str:
        return ", ".join(report.asked.get("channels", [])) or "all"

    @display(description="status", label=TONES)  # type: ignore[untyped-decorator]
    def state(self, report: Report) -> str:
        return report.status

    @admin.display(description="progress")
    def so_far(self, report: Report) -> str:
        return words(report)

    @admin.display(description="asked for")
    def asked_for(self, report: Report) -> str:
        return format_html_join(mark_safe("<br>"), "{}", ((line,) for line in wish(report)))


def shown(report: Report) -> dict[str, Any]:
    return {
        "status": report.status,
        "words": words(report),
        "percent": round(100 * report.progress),
        "isOpen": report.status in OPEN,
    }


def words(report: Report) -> str:
    """Of one that has ended, its status says it all."""
    if report.status not in OPEN:
        return ""
    if report.status == ReportStatus.QUEUED:
        return "waits for its turn"
    stage = f", {report.stage}" if report.stage else ""
    return f"{100 * report.progress:.0f} %{stage}"


def wish(report: Report) -> list[str]:
    """What was asked for, a line each."""
    asked = report.asked
    if not asked:
        return []
    lines = [
        f"{report.period} (UTC), the end not included",
        f"Channels: {', '.join(asked['channels']) or 'all'}",
        f"In time means delivered within {asked['slaSeconds']:g} s",
    ]
    return [*lines, "Compared with the period before"] if asked["compare"] else lines
