"""What all calls of this door have in common: who is let in, what is taken as JSON, how a reply looks."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, NamedTuple, TypeVar

from django.conf import settings
from django.db import Error, close_old_connections
from psycopg_pool import PoolTimeout

from broker_project.api.bearer import bearer
from broker_project.api.exceptions import StorageAway
from broker_project.api.frame import MethodNotAllowed, Request
from broker_project.api.reply import Reply
from broker_project.lib.errors import BrokerError
from channels_app.api.keys import key_opens
from channels_app.api.pacing import Throttled, pace
from channels_app.known import known, known_consumer, surely
from channels_app.models.consumer import PullMode
from channels_app.registry import Entry
from scheduling_app.api.querator import shapes
from scheduling_app.api.querator.shapes import Shape
from scheduling_app.querator.errors import (
    CODE_TEXTS,
    OK,
    TRY_AGAIN,
    InvalidOption,
    NoKey,
    UnknownQueue,
    UnreadableContent,
)
from scheduling_app.querator.names import channel_id, check_name
from scheduling_app.querator.queues import CONSUMER

Result = TypeVar("Result")
DOOR = "querator"
THREADS = 2
_AS_JSON = (b"", b"*/*", b"application/*", b"application/json")


class Found(NamedTuple):
    """A queue as the hot calls know it."""

    name: str
    channel: Entry
    consumer: Entry


@asynccontextmanager
async def gate(request: Request) -> AsyncIterator[None]:
    """Before a body is read: nobody's but a key holder's."""
    if DOOR not in settings.OPEN_DOORS and not await key_opens(bearer(request.headers)):
        await pace(request.address)
        raise NoKey
    yield


def read(request: Request, shape: Shape) -> dict[str, Any]:
    kinds = [value for name, value in request.headers if name == b"content-type"]
    kind = kinds[-1].partition(b";")[0].strip().lower() if kinds else b""
    if kind not in _AS_JSON:
        raise UnreadableContent(f"Content-Type '{kind.decode('latin1')}' is not taken here, only application/json")
    return shapes.body(request.body, shape)


async def find(asked: dict[str, Any]) -> Found:
    name = check_name("queue name", asked.get("queue_name", ""))
    found = await surely(lambda: _known(name))
    if found is None:
        raise UnknownQueue(name)
    return found


async def _known(name: str) -> Found | None:
    channel = await known("channel", channel_id(name))
    consumer = await known_consumer(channel.row_id, CONSUMER) if channel else None
    if channel is None or consumer is None or consumer.mode != PullMode.LEASE:
        return None
    return Found(name, channel, consumer)


def partition_of(asked: dict[str, Any], partitions: int) -> int:
    partition: int = asked.get("partition", 0)
    if not 0 <= partition < partitions:
        raise InvalidOption(f"partition is invalid; '{partition}' is not a valid partition")
    return partition


def answer(document: dict[str, Any], status: int = OK) -> Reply:
    return Reply(status, json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode())


def done() -> Reply:
    return answer({"code": OK, "code_text": CODE_TEXTS[OK], "message": "", "details": {}})


def shown(error: BrokerError) -> Reply:
    """Every refusal, the frame's own too, in Querator's shape and codes."""
    code = _code(error)
    texts = {"code": code, "code_text": CODE_TEXTS[code], "message": _message(error), "details": _details(error)}
    return answer(texts, code)


def _code(error: BrokerError) -> int:
    """Whatever passes by itself is to be tried again; of the rest it knows a few codes."""
    if error.status == 503 or (error.status == 429 and not isinstance(error, Throttled)):
        return TRY_AGAIN
    if error.status in CODE_TEXTS:
        return error.status
    return 500 if error.status >= 500 else 400


def _message(error: BrokerError) -> str:
    return "the method is not allowed; only POST" if isinstance(error, MethodNotAllowed) else error.detail


def _details(error: BrokerError) -> dict[str, str]:
    wait = error.retry_after_seconds
    return {"reason": error.code, **({"retry_after": f"{wait}s"} if wait else {})}


async def in_a_thread(work: Callable[[], Result]) -> Result:
    """Reads and acts on Django's connection; the event loop does not wait for the database."""
    return await asyncio.get_running_loop().run_in_executor(_threads(), _worked, work)


def _worked(work: Callable[[], Result]) -> Result:
    close_old_connections()
    try:
        return work()
    except (Error, PoolTimeout) as error:
        raise StorageAway from error


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="querator")
