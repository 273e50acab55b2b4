"""Names of queues and the ids of their channels: what an id may not hold becomes ~ and two hex digits for each byte."""

from broker_project.lib import tilde_ids
from scheduling_app.querator.errors import InvalidOption

MAX_NAME, MAX_ID = 512, 255


def check_name(field: str, name: str) -> str:
    if not name.strip():
        raise InvalidOption(f"{field} is invalid; {field} cannot be empty")
    if len(name) > MAX_NAME:
        raise InvalidOption(f"{field} is invalid; cannot be greater than '{MAX_NAME}' characters")
    if any(character.isspace() for character in name):
        raise InvalidOption(f"{field} is invalid; '{name}' cannot contain whitespace")
    if "~" in name:
        raise InvalidOption(f"{field} is invalid; '{name}' cannot contain '~' character")
    if len(channel_id(name)) > MAX_ID:
        raise InvalidOption(f"{field} is invalid; as the id of a channel it has more than '{MAX_ID}' characters")
    return name


def channel_id(name: str) -> str:
    return tilde_ids.written(name)


def queue_name(public_id: str) -> str:
    return tilde_ids.read(public_id)
