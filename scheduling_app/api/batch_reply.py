"""What the batch door answers: places instead of names, and never more than a hundred errors."""

import json
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Any

from broker_project.api.problems import FieldErrors
from broker_project.api.reply import Reply
from broker_project.lib.errors import BrokerError
from scheduling_app.api.batch import Batch
from scheduling_app.api.duplicates import DuplicateMessage
from scheduling_app.api.item import ItemRefused

MOST_ERRORS = 100
REPEATED = "An earlier item of this batch has this id."


class InvalidBatch(BrokerError):
    """Some items are not valid. Nothing was stored."""


class DuplicateMessages(DuplicateMessage):
    """This channel already has messages with some of these ids. Nothing was stored."""

    @property
    def code(self) -> str:
        return DuplicateMessage().code


def stored(batch: Batch, address: str) -> Reply:
    result = [address + message.message_id for message in batch.messages.values()]
    return Reply(201, json.dumps({"result": result}).encode())


def invalid(batch: Batch) -> Reply:
    errors = (_error(_path(place, refusal), refusal.error) for place, refusal in batch.refused.items())
    return Reply.problem(InvalidBatch(), errors=_first(errors))


def duplicates(repeated: Collection[int], used: Mapping[int, bool], messages: int) -> Reply:
    """`samePayload`: this very batch was stored before, by a request whose answer was lost."""
    places = sorted({*repeated, *used})
    errors = (_error(f"[{place}].messageId", DuplicateMessage("" if place in used else REPEATED)) for place in places)
    same = not repeated and len(used) == messages and all(used.values())
    return Reply.problem(DuplicateMessages(), errors=_first(errors), samePayload=same)


def one_by_one(batch: Batch, address: str, used: Mapping[int, bool]) -> Reply:
    """207: a result for each item, in the order that they came in."""
    result = [_result(place, batch, address, used) for place in range(len(batch))]
    return Reply(207, json.dumps({"result": result}).encode())


def _result(place: int, batch: Batch, address: str, used: Mapping[int, bool]) -> dict[str, Any]:
    refusal = batch.refused.get(place)
    if refusal is not None:
        return {"status": 400, **_error(_path(place, refusal), refusal.error)}
    location = address + batch.messages[place].message_id
    if place not in used:
        return {"status": 201, "location": location}
    error = _error(f"[{place}].messageId", DuplicateMessage())
    return {"status": 409, **error, "location": location, "samePayload": used[place]}


def _path(place: int, refusal: ItemRefused) -> str:
    return f"[{place}].{refusal.field}" if refusal.field else f"[{place}]"


def _error(field: str, error: BrokerError) -> dict[str, str]:
    return {"field": field, "code": error.code, "detail": error.detail}


def _first(errors: Iterable[dict[str, str]]) -> FieldErrors:
    return list(islice(errors, MOST_ERRORS))
