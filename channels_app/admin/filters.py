"""Filters that answer an operator's question."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import RadioFilter

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
