"""Pages that the theme does not have: a question before an act, and a secret shown once."""

from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest
from django.template.response import TemplateResponse


@dataclass(frozen=True)
class Act:
    """A button above a form. One that changes or reveals something posts; the others are links."""

    title: str
    icon: str
    url: str
    posts: bool = False
    fields: dict[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """Asked before an act that cannot be taken back; a yes posts `fields` to the same address."""

    title: str
    text: str
    yes: str
    fields: dict[str, list[Any]]


def ask(request: HttpRequest, model_admin: Any, question: Question) -> TemplateResponse:
    return _page(request, model_admin, "confirm", title=question.title, question=question)


def show_secret(request: HttpRequest, model_admin: Any, *, title: str, note: str, secret: str, back: str) -> Any:
    """The one page with a secret in it. Admin pages are never cached."""
    return _page(request, model_admin, "secret", title=title, note=note, secret=secret, back=back)


def _page(request: HttpRequest, model_admin: Any, name: str, **context: Any) -> TemplateResponse:
    frame = {**model_admin.admin_site.each_context(request), "opts": model_admin.opts}
    return TemplateResponse(request, f"channels_app/admin/{name}.html", {**frame, **context})
