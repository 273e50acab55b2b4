"""A JSON array of many items, read whole before anything is done: one bad item refuses all, by its place."""

import asyncio
import time
from typing import Any

from broker_project.api.frame import Request
from broker_project.api.reply import Reply
from broker_project.lib.errors import BrokerError
from channels_app.api.pull.door import InvalidDocument, document
from channels_app.api.pull.fields import Refused, Shape

MOST_ITEMS = 10_000
# Errors may hold brackets too, but not so many.
MOST_BRACKETS = 10 * MOST_ITEMS
MOST_ERRORS = 100
# Reading stops by itself, to let the event loop do other work.
SLICE_SECONDS = 0.002


class TooManyItems(BrokerError):
    """The array has more items than this address takes."""

    status = 413


class InvalidItems(BrokerError):
    """Some items are not valid. Nothing was changed."""


class ItemsRefused(Exception):
    """What is wrong with each, for the answer."""

    def __init__(self, errors: list[dict[str, str]]) -> None:
        super().__init__(len(errors))
        self.errors = errors

    def reply(self) -> Reply:
        return Reply.problem(InvalidItems(), errors=self.errors[:MOST_ERRORS])


async def read_items(request: Request, shape: Shape) -> list[dict[str, Any]]:
    _check_number(request.body)
    return await _read(document(request), shape)


def _check_number(body: bytes) -> None:
    """Before it is parsed: millions of small things would stop the event loop, and fill the memory."""
    if body.count(b"{") + body.count(b"[") > MOST_BRACKETS:
        raise TooManyItems(f"At most {MOST_ITEMS} items go into one request.")


async def _read(listed: Any, shape: Shape) -> list[dict[str, Any]]:
    if not isinstance(listed, list):
        raise InvalidDocument("The body is not a JSON array.")
    if len(listed) > MOST_ITEMS:
        raise TooManyItems(f"At most {MOST_ITEMS} items go into one request.")
    items: list[dict[str, Any]] = []
    errors: list[dict[str, str]] = []
    began = time.perf_counter()
    for place, item in enumerate(listed):
        try:
            items.append(shape.read(item))
        except Refused as refusal:
            errors.append(refusal.shown(f"[{place}]"))
        if time.perf_counter() - began > SLICE_SECONDS:
            await asyncio.sleep(0)
            began = time.perf_counter()
    if errors:
        raise ItemsRefused(errors)
    return items
