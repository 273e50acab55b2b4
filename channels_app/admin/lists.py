"""Lists that may be long: no page of them costs more than what is on it."""

from typing import Any, cast

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from unfold.admin import ModelAdmin
from unfold.views import ChangeList

MOST_COUNTED = 10_000


def count_up_to_a_limit(rows: QuerySet[Any]) -> int:
    """Nobody turns two hundred pages, and an exact count of a big table is slow. So is a column that is not shown."""
    return rows.order_by().values("pk")[:MOST_COUNTED].count()


class CappedPaginator(Paginator):  # type: ignore[type-arg]
    @cached_property
    def count(self) -> int:
        return count_up_to_a_limit(cast("QuerySet[Any]", self.object_list))


class OneCountList(ChangeList):
    """The count below the list is the only one; without this the theme also offers to `show all`."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.full_result_count = self.result_count


class LongListAdmin(ModelAdmin):
    list_filter_submit = True
    list_disable_select_all = True
    list_per_page = 50
    ordering: tuple[str, ...] = ("-pk",)
    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[OneCountList]:
        return OneCountList
