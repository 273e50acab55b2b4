"""Filters that answer an operator's question."""

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import AutocompleteSelectFilter, RadioFilter
from unfold.contrib.filters.forms import AutocompleteDropdownForm

PARAMETER = "state"


class StateFilter(RadioFilter):
    """Live rows unless something else is asked for. `ended_by` is the column whose time ends a life."""

    title = PARAMETER
    parameter_name = PARAMETER
    all_option = ("", "Live")
    ended_by = "deleted_at"
    ended_word = "Deleted"

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [("ended", self.ended_word), ("all", "All")]

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == "all":
            return queryset
        return queryset.filter(**{f"{self.ended_by}__isnull": self.value() != "ended"})


class RevokedFilter(StateFilter):
    ended_by = "revoked_at"
    ended_word = "Revoked"


class ChannelChoice(forms.ModelChoiceField):  # type: ignore[type-arg]
    """The chosen channel's id is shown; its token need not be read for that."""

    def __init__(self, queryset: Any, **options: Any) -> None:
        super().__init__(queryset.defer("token"), **options)


class ChannelFilterForm(AutocompleteDropdownForm):
    field = ChannelChoice


class ChannelFilter(AutocompleteSelectFilter):
    form_class = ChannelFilterForm
