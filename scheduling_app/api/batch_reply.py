"""What the batch door answers: places instead of names, and never more than a hundred errors."""

import json
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Any

from broker_project.api.problems import FieldErrors
from broker_project.api.reply import Reply
from broker_project.lib.errors import BrokerError
from scheduling_app.accept import First
from scheduling_app.api.batch import Batch
from scheduling_app.api.duplicates import DuplicateMessage
from scheduling_app.api.item import ItemRefused
from scheduling_app.api.locations import location

MOST_ERRORS = 100
REPEATED = "An earlier item of this batch has this id."


class InvalidBatch(BrokerError):
    """Some items are not valid. Nothing was stored."""


class DuplicateMessages(DuplicateMessage):
    """This channel already has messages with some of these ids. Nothing was stored."""

    @property
    def code(self) -> str:
        return DuplicateMessage().code


def stored(batch: Batch, channel_id: str) -> Reply:
    result = [
        location(channel_id, message.message_id, scheduled=place in batch.times)
        for place, message in batch.messages.items()
    ]
    return Reply(201, json.dumps({"result": result}).encode())


def invalid(batch: Batch) -> Reply:
    errors = (_error(_path(place, refusal), refusal.error) for place, refusal in batch.refused.items())
    return Reply.problem(InvalidBatch(), errors=_first(errors))


def duplicates(repeated: Collection[int], used: Mapping[int, First], messages: int) -> Reply:
    """`samePayload`: this very batch was stored before, by a request whose answer was lost."""
    places = sorted({*repeated, *used})
    errors = (_error(f"[{place}].messageId", DuplicateMessage("" if place in used else REPEATED)) for place in places)
    same = not repeated and len(used) == messages and all(first.same_payload for first in used.values())
    return Reply.problem(DuplicateMessages(), errors=_first(errors), samePayload=same)


def one_by_one(batch: Batch, channel_id: str, used: Mapping[int, First]) -> Reply:
    """207: a result for each item, in the order that they came in."""
    result = [_result(place, batch, channel_id, used) for place in range(len(batch))]
    return Reply(207, json.dumps({"result": result}).encode())


def _result(place: int, batch: Batch, channel_id: str, used: Mapping[int, First]) -> dict[str, Any]:
    refusal = batch.refused.get(place)
    if refusal is not None:
        return {"status": refusal.error.status, **_error(_path(place, refusal), refusal.error)}
    name, first = batch.messages[place].message_id, used.get(place)
    if first is None:
        return {"status": 201, "location": location(channel_id, name, scheduled=place in batch.times)}
    error = _error(f"[{place}].messageId", DuplicateMessage())
    found = location(channel_id, name, scheduled=first.scheduled)
    return {"status": 409, **error, "location": found, "samePayload": first.same_payload}


def _path(place: int, refusal: ItemRefused) -> str:
    return f"[{place}].{refusal.field}" if refusal.field else f"[{place}]"


def _error(field: str, error: BrokerError) -> dict[str, str]:
    return {"field": field, "code": error.code, "detail": error.detail}


def _first(errors: Iterable[dict[str, str]]) -> FieldErrors:
    return list(islice(errors, MOST_ERRORS))
