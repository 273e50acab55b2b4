"""Keyset pages, newest first. The cursor is opaque to clients: a direction and the id to go on from."""

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.db.models import Model, QuerySet
from rest_framework.request import Request

from broker_project.lib.errors import BrokerError

DEFAULT_LIMIT = 25
MAX_LIMIT = 100
_CURSOR = re.compile(rb"([ab])(\d{1,18})")
Row = TypeVar("Row", bound=Model)


class BadCursor(BrokerError):
    """The page parameter is not one that this API gave out."""


class BadLimit(BrokerError):
    """The limit must be a whole number from 1 to 100."""


@dataclass(frozen=True)
class Cursor:
    """Rows `after` an id are older, rows `before` it newer."""

    after: bool
    row_id: int

    def encode(self) -> str:
        return base64.urlsafe_b64encode(b"%s%d" % (b"a" if self.after else b"b", self.row_id)).decode().rstrip("=")

    @classmethod
    def decode(cls, text: str) -> "Cursor":
        try:
            form = _CURSOR.fullmatch(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
        except (binascii.Error, ValueError) as error:
            raise BadCursor from error
        if form is None:
            raise BadCursor
        return cls(after=form[1] == b"a", row_id=int(form[2]))


def page(request: Request, rows: QuerySet[Row], show: Callable[[Row], Any]) -> dict[str, Any]:
    """One page of rows, with links to the neighbours that exist. One query, plus one for the other neighbour."""
    limit = read_limit(request)
    text = request.query_params.get("page", "")
    cursor = Cursor.decode(text) if text else None
    found, more = _fetch(rows, cursor, limit)
    pages: dict[str, str] = {}
    if found:
        newer, older = _neighbours(rows, cursor, found, more)
        if older:
            pages["next"] = _link(request, Cursor(after=True, row_id=found[-1].pk))
        if newer:
            pages["prev"] = _link(request, Cursor(after=False, row_id=found[0].pk))
    return {"result": [show(row) for row in found], "pages": pages}


def read_limit(request: Request) -> int:
    text = request.query_params.get("limit", str(DEFAULT_LIMIT))
    if not re.fullmatch(r"[0-9]{1,3}", text) or not 1 <= int(text) <= MAX_LIMIT:
        raise BadLimit
    return int(text)


def _fetch(rows: QuerySet[Row], cursor: Cursor | None, limit: int) -> tuple[list[Row], bool]:
    """The page's rows, newest first, and whether there are more in the direction of travel."""
    if cursor is not None and not cursor.after:
        found = list(rows.filter(pk__gt=cursor.row_id).order_by("pk")[: limit + 1])
        return found[:limit][::-1], len(found) > limit
    older = rows.filter(pk__lt=cursor.row_id) if cursor else rows
    found = list(older.order_by("-pk")[: limit + 1])
    return found[:limit], len(found) > limit


def _neighbours(rows: QuerySet[Row], cursor: Cursor | None, found: list[Row], more: bool) -> tuple[bool, bool]:
    """Whether there are newer and older rows than the page's."""
    if cursor is None:
        return False, more
    if cursor.after:
        return _any(rows.filter(pk__gt=found[0].pk)), more
    return more, _any(rows.filter(pk__lt=found[-1].pk))


def _any(rows: QuerySet[Row]) -> bool:
    """In order: without one the planner scans the table for the first row that fits."""
    return bool(rows.order_by("pk").values_list("pk")[:1])


def _link(request: Request, cursor: Cursor) -> str:
    kept = [(key, value) for key, values in request.query_params.lists() for value in values if key != "page"]
    return f"{request.path}?{urlencode([*kept, ('page', cursor.encode())])}"
