"""Ids of items. To a client they say nothing: partition, job and attempt, or partition and message for later."""

import re
from typing import NamedTuple

from scheduling_app.querator.errors import InvalidOption

_JOB = re.compile(r"([0-9]{1,4})-([1-9][0-9]{0,18})-([0-9]{1,10})", re.ASCII)
_LATER = re.compile(r"([0-9]{1,4})-s([1-9][0-9]{0,18})", re.ASCII)


class ItemId(NamedTuple):
    """A new lease is a new id: who lost his can do nothing with the old one."""

    partition: int
    job_id: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.partition}-{self.job_id}-{self.attempt}"


class LaterId(NamedTuple):
    partition: int
    row_id: int

    def __str__(self) -> str:
        return f"{self.partition}-s{self.row_id}"


def item_id(text: str) -> ItemId:
    found = _JOB.fullmatch(text)
    numbers = ItemId(*map(int, found.groups())) if found else None
    if numbers is None or numbers.job_id >= 2**63 or numbers.attempt >= 2**31:
        raise InvalidOption(f"invalid storage id; '{text[:100]}'")
    return numbers


def pivot(text: str) -> ItemId | LaterId:
    found = _LATER.fullmatch(text)
    if found is None or int(found[2]) >= 2**63:
        return item_id(text)
    return LaterId(int(found[1]), int(found[2]))
