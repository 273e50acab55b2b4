"""The registry declared in a file, in the same words as over HTTP, and applied at start.

What is missing is made, what differs is changed, what is not mentioned is left alone: running it again changes
nothing. All of the file is applied, or none. A text that begins with $ names an environment variable, so that
no token needs to stand in the file.
"""

import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import transaction
from rest_framework.exceptions import ValidationError

from broker_project.api.exceptions import field_errors
from broker_project.lib.conditions import Condition
from broker_project.lib.errors import BrokerError
from channels_app import services
from channels_app.api.shapes import ChannelIn, ConsumerIn, ProducerIn, RegistryIn
from channels_app.errors import EgressDenied
from channels_app.models import Channel, Consumer, Producer
from channels_app.models.registry_object import RegistryObject


class InvalidDeclaration(BrokerError):
    """The registry file is not valid."""


@dataclass
class Applied:
    """What became of each declared object."""

    created: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)


@transaction.atomic
def apply(path: Path) -> Applied:
    declared, applied = _read(path), Applied()
    for public_id, body in _tables(declared, "producers"):
        name = f"producers.{public_id}"
        _put(name, Producer(public_id=public_id), _values(name, ProducerIn, body), applied)
    for public_id, body in _tables(declared, "channels"):
        _apply_channel(public_id, dict(body), applied)
    if declared:
        raise InvalidDeclaration(f"{path}: there is no section {sorted(declared)[0]}; use channels and producers.")
    return applied


def _apply_channel(public_id: str, body: dict[str, Any], applied: Applied) -> None:
    name = f"channels.{public_id}"
    consumers = list(_tables(body, "consumers", inside=name))
    channel = _put(name, Channel(public_id=public_id), _values(name, ChannelIn, body), applied)
    for consumer_id, consumer_body in consumers:
        inner = f"{name}.consumers.{consumer_id}"
        fresh = Consumer(channel=channel, public_id=consumer_id)
        _put(inner, fresh, _values(inner, ConsumerIn, consumer_body), applied)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidDeclaration(f"{path}: {error}") from error


def _tables(parent: dict[str, Any], section: str, inside: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Takes a section out of its parent: what stays behind is what nobody knows."""
    tables = parent.pop(section, {})
    name = f"{inside}.{section}".lstrip(".")
    if not isinstance(tables, dict):
        raise InvalidDeclaration(f"{name} must be a table.")
    for key, body in tables.items():
        if not isinstance(body, dict):
            raise InvalidDeclaration(f"{name}.{key} must be a table.")
        yield key, body


def _values(name: str, shape: type[RegistryIn], body: dict[str, Any]) -> dict[str, Any]:
    incoming = shape(data={key: _resolve(name, value) for key, value in body.items()})
    try:
        incoming.is_valid(raise_exception=True)
    except ValidationError as error:
        first = field_errors(error.detail)[0]
        raise InvalidDeclaration(f"{name}.{first['field']}: {first['detail']}") from error
    except EgressDenied as error:
        raise InvalidDeclaration(f"{name}.callbackUrl: {error.detail}") from error
    return incoming.values()


def _resolve(name: str, value: Any) -> Any:
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    if value[1:] not in os.environ:
        raise InvalidDeclaration(f"{name} needs the environment variable {value[1:]}, which is not set.")
    return os.environ[value[1:]]


def _put(name: str, fresh: Any, values: dict[str, Any], applied: Applied) -> Any:
    row = _existing(fresh)
    if row is not None:
        # Where a new consumer begins is said once, when it is made; the file says it at every start.
        values.pop("start_from", None)
    if row is not None and not services.would_change(row, values):
        applied.unchanged.append(name)
        return row
    known = Condition(etags=frozenset({row.etag})) if row else Condition()
    try:
        row, created = services.put(fresh, values=values, condition=known)
    except BrokerError as error:
        raise InvalidDeclaration(f"{name}: {error.detail}") from error
    (applied.created if created else applied.changed).append(name)
    return row


def _existing(fresh: RegistryObject) -> RegistryObject | None:
    return services.siblings(fresh).named(fresh.public_id).first()
