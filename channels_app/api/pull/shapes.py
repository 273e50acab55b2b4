"""How these doors show a message and a moment."""

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from channels_app.models.message import as_text


def moment_shown(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def message_shown(message_id: str, payload: bytes, content_type: str, headers: Mapping[str, str]) -> dict[str, Any]:
    """A payload that is not UTF-8 comes as base64."""
    try:
        shown = {"payload": payload.decode()}
    except UnicodeDecodeError:
        shown = {"payloadBase64": base64.b64encode(payload).decode()}
    texts = {name: as_text(value) for name, value in headers.items()}
    return {"messageId": message_id, **shown, "contentType": content_type, "headers": texts}
