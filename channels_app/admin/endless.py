"""Lists of millions: nothing is counted, nothing is skipped, and no page reads more than it must."""

from typing import Any, ClassVar

from django.contrib.admin.views.main import PAGE_VAR
from django.db.models import Max, QuerySet
from django.http import HttpRequest

from channels_app.admin.lists import CappedPaginator, LongListAdmin, OneCountList

# How many ids a page looks back over when no index finds its rows: about a second's work.
REACH = 1_000_000


class EndlessList(OneCountList):
    """Newest first by primary key. `p` is no page's number: it is the id that the page stays below."""

    older: int | str | None = None
    looked_down_to: int | None = None
    first_word, further_word, order_words = "Newest", "Older", "newest first"

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[str]:
        """Whatever the address asks for: no other order has an index."""
        return ["-pk"]

    def get_results(self, request: HttpRequest) -> None:
        cursor = request.GET.get(PAGE_VAR, "")
        below = int(cursor) if cursor.isascii() and cursor.isdigit() and len(cursor) < 19 else None
        rows = self.queryset if below is None else self.queryset.filter(pk__lt=below)
        floor = self._floor(below)
        found = list((rows.filter(pk__gte=floor) if floor else rows)[: self.list_per_page + 1])
        self.show_page(found, is_first=below is None)
        if len(found) > self.list_per_page:
            self.older = self.result_list[-1].pk
        elif floor:
            self.older = self.looked_down_to = floor

    def show_page(self, found: list[Any], *, is_first: bool) -> None:
        """One row more than fits was asked for: whether it came says whether there are others."""
        self.result_list = found[: self.list_per_page]
        self.result_count = self.full_result_count = len(self.result_list)
        self.is_first = is_first
        # What the theme asks a list for.
        self.paginator = CappedPaginator(self.result_list, self.list_per_page)
        self.show_full_result_count = self.show_admin_actions = self.can_show_all = self.multi_page = False

    def _floor(self, below: int | None) -> int | None:
        """The lowest id to look at, where the rows can only be found by looking at each."""
        if not self.model_admin.must_look_at_each(self):
            return None
        top = below or (self.model.objects.aggregate(top=Max("pk"))["top"] or 0) + 1
        return max(0, top - REACH) or None

    @property
    def older_address(self) -> str:
        return self.get_query_string({PAGE_VAR: self.older})

    @property
    def newest_address(self) -> str:
        return self.get_query_string(remove=[])


class EndlessListAdmin(LongListAdmin):
    """Pages for looking. Only the lookups named here may stand in an address: any other could read the whole table."""

    actions: tuple[str, ...] | None = None
    sortable_by = ()
    list_select_related = ()
    change_list_template = "channels_app/admin/endless_list.html"
    lookups: ClassVar[frozenset[str]] = frozenset()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[EndlessList]:
        return EndlessList

    def must_look_at_each(self, rows: EndlessList) -> bool:
        """Whether what is asked for has no index."""
        return False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        return lookup in self.lookups

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
