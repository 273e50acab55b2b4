"""API keys: made, seen once, revoked; never edited, never deleted."""

from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from unfold.decorators import display

from channels_app.admin.filters import RevokedFilter
from channels_app.admin.lists import LongListAdmin
from channels_app.admin.pages import Act, Question, ask, show_secret
from channels_app.models import ApiKey

LIST = "admin:channels_app_apikey_changelist"


@admin.register(ApiKey)
class ApiKeyAdmin(LongListAdmin):
    list_display = ("name", "hint", "state", "created_at", "created_by", "last_used_at")
    list_filter = (RevokedFilter,)
    list_select_related = ("created_by",)
    search_fields = ("name", "hint")
    search_help_text = "Part of a name, or how the key begins"
    actions = ("revoke",)
    fields = ("name", "hint", "created_at", "created_by", "last_used_at", "revoked_at")
    add_fieldsets = ((None, {"fields": ("name",), "description": "The key is shown once, after it is saved."}),)
    change_form_outer_before_template = "channels_app/admin/acts.html"

    def has_change_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        return False

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("channels_app.change_apikey")

    @display(description="state", label={"live": "success", "revoked": "danger"})  # type: ignore[untyped-decorator]
    def state(self, key: ApiKey) -> str:
        return "revoked" if key.revoked_at else "live"

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """A key is saved one way: its text must be seen before anything else."""
        only_save = {"show_save_and_add_another": False, "show_save_and_continue": False}
        acts = self._acts(request, kwargs.get("obj"))
        return super().render_change_form(request, {**context, **only_save, "acts": acts}, *args, **kwargs)

    def _acts(self, request: HttpRequest, key: ApiKey | None) -> list[Act]:
        if key is None or key.revoked_at or not self.has_revoke_permission(request):
            return []
        return [Act("Revoke", "block", reverse(LIST), posts=True, fields=_chosen([key.pk]))]

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        issued, text = ApiKey.objects.issue(name=obj.name, created_by=request.user)
        obj.pk = issued.pk
        # For response_add alone: the text is kept nowhere else.
        request.issued_key = text  # type: ignore[attr-defined]

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: Any = None) -> HttpResponse:
        page: HttpResponse = show_secret(
            request,
            self,
            title=f"API key {obj.name}",
            note="Copy it now. It is not stored, so it cannot be shown again.",
            secret=request.issued_key,  # type: ignore[attr-defined]
            back=reverse(LIST),
        )
        return page

    @admin.action(description="Revoke the selected keys", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        keys = list(queryset.live())
        if "confirmed" not in request.POST:
            return ask(request, self, _revocation(keys))
        with transaction.atomic():
            revoked = queryset.revoke()
            for key in keys:
                self.log_change(request, key, "Revoked")
        self.message_user(request, f"Revoked: {revoked}.", messages.SUCCESS)
        return None


def _revocation(keys: list[ApiKey]) -> Question:
    return Question(
        title=f"Revoke {', '.join(key.name for key in keys)}?",
        text="Who uses it is refused within a second, and for good.",
        yes="Yes, revoke",
        fields={**_chosen([key.pk for key in keys]), "confirmed": ["yes"]},
    )


def _chosen(pks: list[int]) -> dict[str, list[Any]]:
    """What the list posts for its action on these rows."""
    return {"action": ["revoke"], "_selected_action": pks}
