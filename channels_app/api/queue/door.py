"""What the addresses of this door have in common: who is let in, what was sent, and how they say no."""

import json
from typing import Any

from django.conf import settings

from broker_project.api.bearer import bearer
from broker_project.api.frame import Request
from broker_project.api.reply import JSON, Reply, retry_after
from broker_project.lib.errors import BrokerError
from channels_app.api.keys import key_opens
from channels_app.api.pacing import pace
from channels_app.api.pull.door import InvalidDocument, NotJson
from channels_app.api.queue import strict
from channels_app.api.queue.errors import KeyNeeded

NAME = "queue"
# Of everything but a message.
DOCUMENT_BYTES = 64 * 1024


async def admit(request: Request) -> None:
    """An API key opens everything here; guesses are paced."""
    if NAME in settings.OPEN_DOORS:
        return
    if not await key_opens(bearer(request.headers)):
        await pace(request.address)
        raise KeyNeeded


def text_of(request: Request) -> str:
    """What was sent, as text; it says what it is, or says nothing."""
    kinds = [value for name, value in request.headers if name == b"content-type"]
    if kinds and kinds[-1].partition(b";")[0].strip().lower() != JSON.encode():
        raise NotJson
    try:
        return request.body.decode()
    except UnicodeDecodeError:
        raise InvalidDocument("The body is not UTF-8.") from None


def document_in(text: str) -> Any:
    try:
        return strict.read(text)
    except (ValueError, RecursionError):
        raise InvalidDocument("The body is not JSON.") from None


def document(request: Request) -> Any:
    return document_in(text_of(request))


def answer(document: Any) -> Reply:
    return Reply(200, json.dumps(document, separators=(",", ":")).encode())


def refused(error: BrokerError) -> Reply:
    """`{"errors": […]}`, each a sentence; one about a field begins with its name."""
    told = [f"{one['field']}: {one['detail']}" if one["field"] else one["detail"] for one in error.errors]
    challenge = [(b"www-authenticate", b"Bearer")] if error.status == KeyNeeded.status else []
    body = json.dumps({"errors": told or [error.detail]}).encode()
    return Reply(error.status, body, headers=[*retry_after(error), *challenge])
