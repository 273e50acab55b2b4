"""The metadata of a request or of one entry: what it asks for, read into values or refused. Names in any case."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from scheduling_app.dapr.errors import InvalidMetadata

PRIORITIES = range(-(2**31), 2**31)
MOST_TTL_SECONDS = 2**31 - 1
MOST_BYTES = 16 * 1024
_PREFIX = "metadata."
_EVENT_PREFIX = "cloudevent."
_SCHEDULED = "scheduledsendtime"
_ALIASES = dict.fromkeys(("deliverat", "deliverafter", "scheduledenqueuetimeutc"), _SCHEDULED)
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_ATTRIBUTE = re.compile(r"[a-z0-9]{1,64}")
_NOT_ATTRIBUTES = frozenset(("data", "specversion", "datacontenttype"))
_YES = frozenset(("true", "t", "1", "yes", "y", "on"))
_NO = frozenset(("false", "f", "0", "no", "n", "off", ""))


class Wishes(NamedTuple):
    """What the metadata asks for; of what it does not name, the default."""

    scheduled: str | None = None
    ttl_seconds: int = 0
    raw: bool = False
    priority: int = 0
    attributes: Mapping[str, str] = {}


_NONE = Wishes()


def from_query(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """The metadata.* parameters of a query; a repeated one counts once, as its last."""
    return {name[len(_PREFIX) :]: value for name, value in pairs if name.lower().startswith(_PREFIX)}


def merged(defaults: Mapping[str, str], own: Mapping[str, str]) -> Mapping[str, str]:
    """An entry's metadata over the request's: by what a name means, so that an alias replaces what it stands for."""
    if not defaults or not own:
        return own or defaults
    meant = {_meaning(name) for name in own}
    return {**{name: value for name, value in defaults.items() if _meaning(name) not in meant}, **own}


def read(metadata: Mapping[str, str]) -> Wishes:
    if not metadata:
        return _NONE
    _check_texts(metadata)
    values = _by_meaning(metadata)
    return Wishes(
        scheduled=values.get(_SCHEDULED),
        ttl_seconds=_ttl(values["ttlinseconds"]) if "ttlinseconds" in values else 0,
        raw="rawpayload" in values and _is_yes(values["rawpayload"]),
        priority=_priority(values["priority"]) if "priority" in values else 0,
        attributes=_attributes(values),
    )


def wants_raw(metadata: Mapping[str, str]) -> bool:
    """What a subscription says, of which nothing else has a meaning here."""
    return read({name: value for name, value in metadata.items() if _meaning(name) == "rawpayload"}).raw


def _meaning(name: str) -> str:
    name = name.lower()
    return _ALIASES.get(name, name)


def _by_meaning(metadata: Mapping[str, str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, value in metadata.items():
        meaning = _meaning(name)
        if meaning in values:
            raise InvalidMetadata(f"{name} was said twice, or by another of its names.")
        values[meaning] = value
    return values


def _check_texts(metadata: Mapping[str, str]) -> None:
    """It is kept with a message for later: PostgreSQL keeps no NUL and no half of a surrogate pair."""
    text = "".join((*metadata, *metadata.values()))
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidMetadata("The metadata has half a surrogate pair.") from None
    if "\x00" in text:
        raise InvalidMetadata("The metadata has a NUL.")
    if size > MOST_BYTES:
        raise InvalidMetadata(f"The metadata is larger than {MOST_BYTES} bytes.")


def _ttl(text: str) -> int:
    """A longer one than fits is as good as none: the channel's own limit is shorter."""
    if not _INTEGER.fullmatch(text.strip()) or int(text) <= 0:
        raise InvalidMetadata("ttlInSeconds is a whole number above zero.")
    return min(int(text), MOST_TTL_SECONDS)


def _is_yes(text: str) -> bool:
    word = text.strip().lower()
    if word not in _YES | _NO:
        raise InvalidMetadata("rawPayload is true or false.")
    return word in _YES


def _priority(text: str) -> int:
    if not _INTEGER.fullmatch(text.strip()) or int(text) not in PRIORITIES:
        raise InvalidMetadata("priority is a whole number from -2147483648 to 2147483647.")
    return int(text)


def _attributes(values: Mapping[str, str]) -> dict[str, str]:
    found = {name[len(_EVENT_PREFIX) :]: value for name, value in values.items() if name.startswith(_EVENT_PREFIX)}
    for name in found:
        if not _ATTRIBUTE.fullmatch(name) or name in _NOT_ATTRIBUTES:
            raise InvalidMetadata(f"cloudevent.{name[:64]} cannot be set: an attribute is of a-z and 0-9.")
    return found
