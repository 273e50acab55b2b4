"""Tokens in the admin: masked everywhere, revealed or made anew by an audited POST."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_POST

from broker_project.lib.conditions import ChangedMeanwhile, Condition
from channels_app import services
from channels_app.admin.lists import LongListAdmin
from channels_app.admin.pages import Act, Question, ask, show_secret
from channels_app.models.registry_object import RegistryObject


class TokenAdmin(LongListAdmin):
    """The pages behind the two buttons. They answer to POST only: a link or an image cannot trigger them."""

    def get_urls(self) -> list[URLPattern]:
        views = {"reveal_token": self.reveal_token, "renew_token": self.renew_token}
        return [
            *(
                path(f"<int:pk>/{name}/", self.admin_site.admin_view(require_POST(view)), name=self._url_name(name))
                for name, view in views.items()
            ),
            *super().get_urls(),
        ]

    @admin.display(description="token")
    def mask(self, _row: RegistryObject) -> str:
        return "•" * 8

    def token_acts(self, request: HttpRequest, row: RegistryObject) -> list[Act]:
        acts = []
        if self.has_reveal_permission(request, row):
            acts.append(Act("Reveal the token", "visibility", self._url("reveal_token", row), posts=True))
        if self.has_renew_permission(request, row):
            acts.append(Act("Make a new token", "key", self._url("renew_token", row), posts=True))
        return acts

    def has_reveal_permission(self, request: HttpRequest, row: RegistryObject) -> bool:
        return self.has_view_permission(request, row) and request.user.has_perm("channels_app.reveal_token")

    def has_renew_permission(self, request: HttpRequest, row: RegistryObject) -> bool:
        """Who makes a token gets to see it."""
        return self.has_change_permission(request, row) and self.has_reveal_permission(request, row)

    def reveal_token(self, request: HttpRequest, pk: int) -> HttpResponse:
        row = self._row(request, pk)
        if not self.has_reveal_permission(request, row):
            raise PermissionDenied
        # Drawn first: what cannot be read has not been revealed.
        shown = self._show(request, row, note="This look is noted in the history.")
        self.log_change(request, row, "Revealed the token")
        return shown

    def renew_token(self, request: HttpRequest, pk: int) -> HttpResponse:
        row = self._row(request, pk)
        if not self.has_renew_permission(request, row):
            raise PermissionDenied
        if "etag" not in request.POST:
            return ask(request, self, self._renewal(row))
        known = Condition(etags=frozenset({request.POST["etag"]}))
        try:
            with transaction.atomic():
                renewed, _ = services.put(row, values={"token": None}, condition=known)
                self.log_change(request, row, "Made a new token")
        except ChangedMeanwhile as error:
            self.message_user(request, error.detail, messages.ERROR)
            return redirect(self._url("change", row))
        return self._show(request, renewed, note="The old token no longer opens anything.")

    def _renewal(self, row: RegistryObject) -> Question:
        return Question(
            title=f"Make a new token for {row.public_id}?",
            text="The token in use stops working within a second, and everyone who has it needs the new one.",
            yes="Yes, make a new token",
            fields={"etag": [row.etag]},
        )

    def _show(self, request: HttpRequest, row: RegistryObject, *, note: str) -> Any:
        back = self._url("change", row)
        return show_secret(request, self, title=f"Token of {row.public_id}", note=note, secret=row.token, back=back)

    def _row(self, request: HttpRequest, pk: int) -> RegistryObject:
        row: RegistryObject | None = self.get_object(request, str(pk))
        if row is None or row.deleted_at is not None:
            raise Http404
        return row

    def _url(self, name: str, row: RegistryObject) -> str:
        return reverse(f"admin:{self._url_name(name)}", args=[row.pk])

    def _url_name(self, name: str) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{name}"
