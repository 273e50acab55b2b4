"""Links from a cell or a button to another page."""

from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode


def address(row: Any) -> str:
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])


def link(row: Any, words: str = "") -> str:
    return format_html('<a href="{}" class="text-link">{}</a>', address(row), words or row)


def listed(model: Any, **filters: Any) -> str:
    """The list of a model, with these filters set."""
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"
    return f"{reverse(name)}?{urlencode(filters)}" if filters else reverse(name)
