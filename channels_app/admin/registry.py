"""What the pages of channels, producers and consumers share."""

from typing import Any, ClassVar

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from broker_project.lib.conditions import ChangedMeanwhile, Condition, PreconditionMissing
from channels_app import services
from channels_app.admin.filters import PARAMETER, StateFilter
from channels_app.admin.forms import CHANGED_MEANWHILE, RegistryForm
from channels_app.admin.pages import Act
from channels_app.admin.tokens import TokenAdmin
from channels_app.admin.words import RETRY_COLUMNS
from channels_app.models.registry_object import RegistryObject, RegistryQuerySet

# Somebody was faster: between the form's own check and the statement that saves.
OVERTAKEN = (ChangedMeanwhile, PreconditionMissing)
# What would go, how many of each kind, the kinds that this user may not delete, the rows in the way.
Deletion = tuple[list[str], dict[str, int], set[str], list[str]]

# Topics that more than one kind of object has.
LIMITS = ("rate_per_second", "rate_burst")
RETRY = ("Retry", {"fields": RETRY_COLUMNS})


class RegistryAdmin(TokenAdmin):
    form = RegistryForm
    list_filter: tuple[Any, ...] = (StateFilter,)
    search_fields = ("public_id", "name")
    search_help_text = "Part of an id or a name"
    change_form_before_template = "channels_app/admin/etag.html"
    change_form_outer_before_template = "channels_app/admin/acts.html"
    delete_confirmation_template = "channels_app/admin/delete_confirmation.html"

    # Columns that name a row: typed once, fixed afterwards.
    fixed: ClassVar[tuple[str, ...]] = ("public_id",)
    # Columns that are not even read for a page.
    sealed: ClassVar[tuple[str, ...]] = ("token",)
    # Fieldsets below the identity.
    topics: ClassVar[list[tuple[str, dict[str, Any]]]] = []

    def get_queryset(self, request: HttpRequest) -> RegistryQuerySet:
        rows: RegistryQuerySet = super().get_queryset(request)
        return rows.defer(*self.sealed)

    def get_fieldsets(self, request: HttpRequest, obj: RegistryObject | None = None) -> list[tuple[str, Any]]:
        if obj is None:
            return [("Identity", {"fields": (*self.fixed, "name", "token")}), *self.topics]
        identity = ("Identity", {"fields": (*self.fixed, "name", "mask")})
        return [identity, *self.topics, ("Times", {"fields": self._times(obj)})]

    def get_readonly_fields(self, request: HttpRequest, obj: RegistryObject | None = None) -> tuple[str, ...]:
        return (*self.fixed, "mask", *self._times(obj)) if obj else ()

    def _times(self, obj: RegistryObject) -> tuple[str, ...]:
        return ("deleted_at", "created_at", "changed_at") if obj.deleted_at else ("created_at", "changed_at")

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        columns: tuple[str, ...] = super().get_list_display(request)
        return (*columns, "deleted_at") if request.GET.get(PARAMETER) else columns

    def has_change_permission(self, request: HttpRequest, obj: RegistryObject | None = None) -> bool:
        """What is deleted is only looked at."""
        return super().has_change_permission(request, obj) and not (obj and obj.deleted_at)

    def has_delete_permission(self, request: HttpRequest, obj: RegistryObject | None = None) -> bool:
        return super().has_delete_permission(request, obj) and not (obj and obj.deleted_at)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        return {} if request.GET.get(PARAMETER) else super().get_actions(request)

    def acts(self, request: HttpRequest, row: Any) -> list[Act]:
        """The buttons above the form."""
        return [] if row.deleted_at else self.token_acts(request, row)

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        row = kwargs.get("obj")
        return super().render_change_form(
            request, {**context, "acts": self.acts(request, row) if row else []}, *args, **kwargs
        )

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """All of a bulk delete happens, its audit included, or nothing."""
        try:
            with transaction.atomic():
                return super().changelist_view(request, extra_context)
        except OVERTAKEN:
            return self._refuse(request, request.get_full_path())

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except OVERTAKEN:
            return self._refuse(request, request.get_full_path())

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        try:
            return super().delete_view(request, object_id, extra_context)
        except OVERTAKEN:
            name = f"admin:{self.opts.app_label}_{self.opts.model_name}_change"
            return self._refuse(request, reverse(name, args=[object_id]))

    def _refuse(self, request: HttpRequest, address: str) -> HttpResponse:
        self.message_user(request, CHANGED_MEANWHILE, messages.ERROR)
        return redirect(address)

    def save_model(self, request: HttpRequest, obj: RegistryObject, form: RegistryForm, change: bool) -> None:
        values = form.values()
        if values or not change:
            services.put(obj, values=values, condition=form.condition())

    def delete_model(self, request: HttpRequest, obj: RegistryObject) -> None:
        services.delete(obj, condition=Condition(etags=frozenset({request.POST.get("etag", "")})))

    def delete_queryset(self, request: HttpRequest, queryset: RegistryQuerySet) -> None:
        for row in queryset:
            services.delete(row, condition=Condition(etags=frozenset({row.etag})))

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Deletion:
        """A soft delete takes no row away, so no row that points at one is in its way."""
        refused = {str(self.opts.verbose_name) for row in objs if not self.has_delete_permission(request, row)}
        return [str(row) for row in objs], {str(self.opts.verbose_name_plural): len(objs)}, refused, []
