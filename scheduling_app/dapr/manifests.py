"""Dapr's component YAML: what it says of a pubsub component, or why it cannot be read."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from broker_project.lib.errors import BrokerError
from broker_project.lib.patterns import PUBLIC_ID

_YES, _NO = frozenset(("true", "yes", "1", "on")), frozenset(("false", "no", "0", "off"))
_KNOWN = {"enabledelayedmessaging": "enable_delayed_messaging", "createtopics": "create_topics"}


class InvalidManifest(BrokerError):
    """This is not Dapr's component YAML."""


class Manifest(NamedTuple):
    """A component as a file says it; `ignored` is what it says that means nothing here."""

    name: str
    enable_delayed_messaging: bool = False
    create_topics: bool = True
    ignored: tuple[str, ...] = ()


def manifests(text: str) -> Iterator[Manifest | str]:
    """Each component of a file; of one that is no pubsub, only its name."""
    try:
        documents = [document for document in yaml.safe_load_all(text) if document is not None]
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidManifest(f"This is not YAML{_where(error)}.") from None
    for document in documents:
        yield _manifest(document)


def _where(error: Exception) -> str:
    """The place alone: what stands there may be a password."""
    mark = getattr(error, "problem_mark", None)
    return f": line {mark.line + 1}, column {mark.column + 1}" if mark else ""


def _manifest(document: Any) -> Manifest | str:
    if not isinstance(document, dict) or document.get("kind") != "Component":
        raise InvalidManifest("A document has no kind: Component.")
    name, spec = _name(document), document.get("spec")
    if not isinstance(spec, dict) or not isinstance(spec.get("type"), str):
        raise InvalidManifest(f"The component {name} has no spec with a type.")
    if not spec["type"].startswith("pubsub."):
        return name
    items = spec.get("metadata") or []
    if not isinstance(items, list):
        raise InvalidManifest(f"The spec.metadata of {name} is a list of names and values.")
    manifest = _with_items(Manifest(name), items)
    return manifest._replace(ignored=(*manifest.ignored, "scopes")) if document.get("scopes") else manifest


def _name(document: dict[str, Any]) -> str:
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not PUBLIC_ID.fullmatch(name):
        raise InvalidManifest("A component's metadata.name is 1 to 255 of A-Z a-z 0-9 . _ ~ -")
    return name


def _with_items(manifest: Manifest, items: list[Any]) -> Manifest:
    for item in items:
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            raise InvalidManifest(f"The spec.metadata of {manifest.name} is a list of names and values.")
        field = _KNOWN.get(item["name"].lower())
        if field is None:
            manifest = manifest._replace(ignored=(*manifest.ignored, item["name"]))
        else:
            manifest = Manifest(**{**manifest._asdict(), field: _truth(item)})
    return manifest


def _truth(item: dict[str, Any]) -> bool:
    word = str(item.get("value")).lower()
    if word not in _YES | _NO:
        raise InvalidManifest(f"{item['name']} is true or false.")
    return word in _YES
