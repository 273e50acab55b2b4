"""Items on their way in and out: kind, encoding and reference travel as headers of the message."""

import base64
from collections.abc import Sequence
from typing import Any

from broker_project.lib.metadata import MAX_METADATA_BYTES, InvalidHeader, check_size, check_value
from channels_app.api.pull.shapes import moment_shown
from channels_app.delivery.accept import Incoming, new_message_ids
from channels_app.models.message import as_text
from channels_app.pull.lease import Leased
from scheduling_app.accept import Times
from scheduling_app.api.querator import shapes
from scheduling_app.api.querator.shapes import Shape
from scheduling_app.door.bounds import DEFAULT_CONTENT_TYPE
from scheduling_app.querator.errors import InvalidOption
from scheduling_app.querator.item_ids import ItemId
from scheduling_app.querator.storage import StoredItem

ITEM = Shape(
    encoding=shapes.text,
    kind=shapes.text,
    reference=shapes.text,
    enqueue_at=shapes.moment,
    bytes=shapes.raw,
    utf8=shapes.characters,
)
_HEADERS = {"encoding": "X-Querator-Encoding", "kind": "X-Querator-Kind", "reference": "X-Querator-Reference"}
_SOURCE = "X-Querator-Source-ID"


def incoming(
    items: Sequence[dict[str, Any]], *, channel_id: int, producer_id: int, partition: int
) -> dict[int, Incoming]:
    """By place; all of them in one partition."""
    ids = new_message_ids(len(items))
    return {
        place: Incoming(
            channel_id,
            producer_id,
            message_id,
            _payload(item),
            DEFAULT_CONTENT_TYPE,
            0,
            _headers(place, item),
            partition=partition,
        )
        for place, (item, message_id) in enumerate(zip(items, ids, strict=True))
    }


def times_for(items: Sequence[dict[str, Any]], now: float) -> dict[int, Times]:
    """Of those for later; a time that is past is now."""
    asked = {place: item["enqueue_at"] for place, item in enumerate(items) if "enqueue_at" in item}
    return {place: Times(due, due) for place, due in asked.items() if due > now * 1_000_000}


def leased_shown(job: Leased) -> dict[str, Any]:
    return {
        "id": str(ItemId(job.partition, job.job_id, job.attempt)),
        "attempts": job.failures + 1,
        "lease_deadline": moment_shown(job.lease_until),
        **_words(job.headers),
        "bytes": base64.b64encode(job.payload).decode(),
    }


def stored_shown(item: StoredItem, max_attempts: int) -> dict[str, Any]:
    """A time that there is not is left out."""
    times = {
        "lease_deadline": item.lease_deadline if item.is_leased else None,
        "expire_deadline": item.expire_deadline,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "enqueue_at": item.enqueue_at,
    }
    return {
        "id": item.id,
        "source_id": as_text(item.headers.get(_SOURCE, "")),
        "is_leased": item.is_leased,
        **{name: moment_shown(moment) for name, moment in times.items() if moment is not None},
        "attempts": item.attempts,
        "max_attempts": max_attempts,
        **_words(item.headers),
        "payload": base64.b64encode(item.payload).decode(),
    }


def _payload(item: dict[str, Any]) -> bytes:
    """Bytes go before text; neither is an empty payload."""
    found: bytes = item["bytes"] if "bytes" in item else item.get("utf8", "").encode()
    return found


def _headers(place: int, item: dict[str, Any]) -> dict[str, str]:
    try:
        found = {header: _value(item[name]) for name, header in _HEADERS.items() if item.get(name)}
        check_size(found)
    except InvalidHeader:
        names = ", ".join(_HEADERS)
        raise InvalidOption(
            f"items[{place}] is invalid; {names} have no control characters, and {MAX_METADATA_BYTES} bytes in all"
        ) from None
    return found


def _value(text: str) -> str:
    """Kept as every header is, a character for each byte."""
    return check_value(text.encode().decode("latin1"))


def _words(headers: dict[str, str]) -> dict[str, str]:
    return {name: as_text(headers.get(header, "")) for name, header in _HEADERS.items()}
