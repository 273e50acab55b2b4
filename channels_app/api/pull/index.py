"""The doors for consumers that poll by index: poll, one message again, ack, seek."""

import re
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl

import structlog

from broker_project.api.frame import Request, Route
from broker_project.api.reply import Reply
from broker_project.lib.errors import BrokerError
from channels_app.api.pull.door import Admitted, InvalidDocument, address, admit, answer, document
from channels_app.api.pull.shapes import message_shown, moment_shown
from channels_app.api.pull.turns import in_turn
from channels_app.pull.index import ack, again, poll, seek
from channels_app.pull.index.ack import Acked
from channels_app.pull.index.moments import moment
from channels_app.pull.index.places import Place
from channels_app.pull.index.poll import Item

log = structlog.get_logger(__name__)

DEFAULT_LIMIT, MOST = 25, 1_000
DOCUMENT_BYTES = 4_096
MOST_INDEX = 10**18
_NUMBER = re.compile(r"[0-9]{1,18}")

POLL, ACK, SEEK = address("poll"), address("ack"), address("seek")
MESSAGE_AT = address("message-at/(?P<index>[^/]+)")


class InvalidNumber(BrokerError):
    """A number in the address is not valid."""


async def poll_door(request: Request) -> Reply:
    """The next messages, by index; without any, the reason."""
    admitted = await _admit(request, POLL)
    start, limit = _asked(request)
    async with in_turn(admitted.consumer.row_id) as connection:
        polled = await poll.poll(connection, admitted.consumer.row_id, start=start, limit=limit)
    items = [shown(item) for item in polled.items]
    return answer({"result": items, **_indexes(polled.place), "lastIndex": polled.place.last, "reason": polled.reason})


async def message_at_door(request: Request) -> Reply:
    """One message again."""
    admitted = await _admit(request, MESSAGE_AT)
    index = _number("The index", MESSAGE_AT.fullmatch(request.path)["index"])  # type: ignore[index]
    async with in_turn(admitted.consumer.row_id) as connection:
        return answer(shown(await again.message_at(connection, admitted.consumer.row_id, index)))


async def ack_door(request: Request) -> Reply:
    """`index`: this message is done. `upTo`: this one and everything before it."""
    admitted = await _admit(request, ACK)
    name, value = _one_of(document(request), "index", "upTo")
    act = ack.ack if name == "index" else ack.ack_up_to
    consumer_id = admitted.consumer.row_id
    acked = await act(lambda: in_turn(consumer_id), consumer_id, _index(value))
    _tell(admitted, name, value, acked)
    return answer({**_indexes(acked.place), "result": "applied" if acked.jobs else "duplicate"})


async def seek_door(request: Request) -> Reply:
    """`index`: go on right after it. `time`: go on with the first message received at or after it."""
    admitted = await _admit(request, SEEK)
    name, value = _one_of(document(request), "index", "time")
    consumer_id = admitted.consumer.row_id
    index = await _index_before(admitted, moment(value)) if name == "time" else _index(value)
    return answer(_indexes(await seek.seek(lambda: in_turn(consumer_id), consumer_id, index)))


async def _index_before(admitted: Admitted, at: datetime) -> int:
    async with in_turn(admitted.consumer.row_id) as connection:
        return await seek.index_before(connection, admitted.channel.row_id, at)


async def _admit(request: Request, path: re.Pattern[str]) -> Admitted:
    admitted = await admit(request, path)
    admitted.must_poll()
    return admitted


def _asked(request: Request) -> tuple[int | None, int]:
    """What is given twice counts as it was given last."""
    query = dict(parse_qsl(request.query.decode("latin1"), keep_blank_values=True))
    start = _number("from", query["from"]) if "from" in query else None
    limit = _number("limit", query["limit"]) if "limit" in query else DEFAULT_LIMIT
    if not 1 <= limit <= MOST:
        raise InvalidNumber(f"limit is from 1 to {MOST}.")
    return start, limit


def _number(name: str, text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise InvalidNumber(f"{name} is a whole number, 0 or more.")
    return int(text)


def _one_of(sent: Any, *names: str) -> tuple[str, Any]:
    """The one field of the document; names count in any case."""
    known = {name.lower(): name for name in names}
    if not isinstance(sent, dict) or len(sent) != 1 or next(iter(sent)).lower() not in known:
        raise InvalidDocument(f"The body is an object with one field: {' or '.join(names)}.")
    [(name, value)] = sent.items()
    return known[name.lower()], value


def _index(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < MOST_INDEX:
        raise InvalidDocument("An index is a whole number, 0 or more.")
    return value


def _indexes(place: Place) -> dict[str, int]:
    return {"ackedIndex": place.acked, "sentIndex": place.sent}


def shown(item: Item) -> dict[str, Any]:
    return {
        "index": item.index,
        "id": None if item.job_id is None else str(item.job_id),
        "attempt": item.attempt,
        "priority": item.priority,
        "message": message_shown(item.message_id, item.payload, item.content_type, item.headers),
        "publishedAt": moment_shown(item.published_at),
    }


def _tell(admitted: Admitted, name: str, value: int, acked: Acked) -> None:
    log.info(
        "index.acked",
        channel=admitted.channel_id,
        consumer=admitted.consumer_id,
        **{name: value},
        jobs=acked.jobs,
        acked_index=acked.place.acked,
    )


ROUTES = (
    Route(POLL, ("GET",), poll_door, max_bytes=DOCUMENT_BYTES),
    Route(MESSAGE_AT, ("GET",), message_at_door, max_bytes=DOCUMENT_BYTES),
    Route(ACK, ("POST",), ack_door, max_bytes=DOCUMENT_BYTES),
    Route(SEEK, ("POST",), seek_door, max_bytes=DOCUMENT_BYTES),
)
