"""What an application has delayed: GET /v1.0/delayed/{app-id}-delayed, and POST …/take, which hands it over for good.

Whoever has an API key sees every listing; a producer sees its own messages only; an open door shows everybody's.
Without a key all of it is of channels with answers: dapr: this door opens no others.
"""

import asyncio
import base64
import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode

import psycopg
from django.conf import settings
from psycopg_pool import PoolTimeout

from broker_project.api.door_pool import door_pool
from broker_project.api.door_write import written
from broker_project.api.exceptions import StorageAway
from broker_project.api.frame import Request, Route
from broker_project.api.reply import Reply
from channels_app.api.keys import key_opens
from channels_app.api.pull.shapes import moment_shown
from scheduling_app.api.dapr.head import caller_behind, head_of
from scheduling_app.api.dapr.reply import door_refusal
from scheduling_app.dapr import delayed
from scheduling_app.dapr.caller import DOOR
from scheduling_app.dapr.delayed import After, Delayed, Listing, Page
from scheduling_app.dapr.errors import DaprError

PATH = re.compile(r"/v1\.0/delayed/([^/]+)")
TAKE = re.compile(r"/v1\.0/delayed/([^/]+)/take")
DEFAULT_LIMIT, MOST = 25, 100
MOST_PARAMETERS = 10
MAX_DOCUMENT_BYTES = 64 * 1024
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_CURSOR = re.compile(rb"([0-9]{1,18})-([0-9]{1,18})")
_BEGIN = After(_EPOCH, 0)
# One page at a time, and none in the place of somebody who stores.
_readers = asyncio.Semaphore(1)


class UnknownListing(DaprError):
    """A listing of delayed messages is named {app-id}-delayed, or {app-id}{namespace}-delayed."""

    status = 404
    grpc_code = "NOT_FOUND"


class BadLimit(DaprError):
    """The limit is a whole number from 1 to 100."""


class BadCursor(DaprError):
    """The page parameter is not one that this API gave out."""


class BadDocument(DaprError):
    """The body is a JSON object, with a limit if one is wanted."""


async def show(request: Request) -> Reply:
    listing = await _listing(request, PATH)
    asked = _asked(request.query)
    limit, after = _limit(asked.get("limit")), _after(asked.get("page"))
    page = await _page(listing, after, limit)
    return _answer({"result": _shown(page.messages), "pages": _pages(request.path, asked, page)})


async def _page(listing: Listing, after: After, limit: int) -> Page:
    try:
        async with _readers, door_pool().connection() as connection:
            return await delayed.page(connection, listing, after=after, most=limit)
    except (psycopg.Error, PoolTimeout) as error:
        raise StorageAway from error


async def take(request: Request) -> Reply:
    listing = await _listing(request, TAKE)
    limit = _wanted(request.body)
    messages = await written(lambda connection: delayed.take(connection, listing, most=limit))
    return _answer({"result": _shown(messages)})


async def _listing(request: Request, path: re.Pattern[str]) -> Listing:
    name, head = path.fullmatch(request.path)[1], head_of(request.headers)  # type: ignore[index]
    is_manager = await key_opens(head.token)
    sees_all = is_manager or DOOR in settings.OPEN_DOORS
    producer_id = None if sees_all else (await caller_behind(request, head)).producer.row_id
    if not name.endswith("-delayed") or "\x00" in name:
        raise UnknownListing
    return Listing(name, producer_id, is_manager)


def _asked(query: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(query.decode("latin1"), max_num_fields=MOST_PARAMETERS, keep_blank_values=True))
    except ValueError:
        raise BadLimit("There are a limit and a page to be asked for here, and no more.") from None


def _limit(text: str | None) -> int:
    if text is None:
        return DEFAULT_LIMIT
    if not re.fullmatch("[0-9]{1,3}", text) or not 1 <= int(text) <= MOST:
        raise BadLimit
    return int(text)


def _wanted(body: bytes) -> int:
    try:
        document = json.loads(body) if body.strip() else {}
    except (ValueError, RecursionError):
        raise BadDocument from None
    if not isinstance(document, dict):
        raise BadDocument
    limit = document.get("limit", DEFAULT_LIMIT)
    if type(limit) is not int or not 1 <= limit <= MOST:
        raise BadLimit
    return limit


def _after(text: str | None) -> After:
    if not text:
        return _BEGIN
    try:
        found = _CURSOR.fullmatch(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except ValueError:
        raise BadCursor from None
    if found is None:
        raise BadCursor
    try:
        return After(_EPOCH + int(found[1]) * _MICROSECOND, int(found[2]))
    except OverflowError:
        raise BadCursor from None


def _pages(path: str, asked: dict[str, str], page: Page) -> dict[str, str]:
    if not page.has_more:
        return {}
    last = page.messages[-1]
    cursor = b"%d-%d" % ((last.due_at - _EPOCH) // _MICROSECOND, last.row_id)
    text = base64.urlsafe_b64encode(cursor).decode().rstrip("=")
    return {"next": f"{path}?{urlencode({**asked, 'page': text})}"}


def _shown(messages: Iterable[Delayed]) -> list[dict[str, Any]]:
    """DelayedMessage, as JSON writes protobuf: bytes in base64. And what else there is to know."""
    return [
        {
            "topic": one.dapr["topic"],
            "message": base64.b64encode(_message(one)).decode(),
            "contentType": one.dapr["contentType"],
            "metadata": one.dapr["metadata"],
            "bulkPublish": one.dapr["bulk"],
            "pubsubName": one.dapr["pubsub"],
            "dueTime": moment_shown(one.due_at),
            "messageId": one.message_id,
        }
        for one in messages
    ]


def _message(one: Delayed) -> bytes:
    """What is sent; of a bulk request, Dapr's BulkMessageEntry, as its JSON writes it."""
    if not one.dapr["bulk"]:
        return one.payload
    entry = {
        "entryId": one.dapr["entryId"],
        "event": base64.b64encode(one.payload).decode(),
        "contentType": one.dapr["contentType"],
        "metadata": one.dapr["metadata"],
    }
    return json.dumps(entry).encode()


def _answer(document: dict[str, Any]) -> Reply:
    return Reply(200, json.dumps(document).encode())


ROUTES = (
    Route(PATH, ("GET",), show, refusal=door_refusal),
    Route(TAKE, ("POST",), take, max_bytes=MAX_DOCUMENT_BYTES, refusal=door_refusal),
)
