"""POST /v1/queue/create and /v1/subscribe/register."""

import re
from typing import Any

from broker_project.api.frame import Request, Route
from broker_project.api.reply import Reply
from channels_app.api.pull.fields import Field, Shape
from channels_app.api.queue import registering
from channels_app.api.queue.door import DOCUMENT_BYTES, admit, answer, document, refused
from channels_app.api.queue.fields import anything, name
from channels_app.known import in_thread

CREATE, REGISTER = re.compile("/v1/queue/create"), re.compile("/v1/subscribe/register")
_QUEUE = Shape(Field("name", "name", name, needed=True))
# The registry checks these itself.
_SUBSCRIBER = Shape(
    Field("queue_name", "queue_name", name, needed=True),
    Field("subscriber_id", "subscriber_id", name, needed=True),
    Field("callback_url", "callback_url", anything),
    Field("unacked_cap", "unacked_cap", anything),
    Field("start_from", "start_from", anything),
)


async def create(request: Request) -> Reply:
    """A queue that must not be there yet."""
    await admit(request)
    asked = _QUEUE.of(document(request))["name"]
    await in_thread(lambda: registering.create_queue(asked))
    return answer({"name": asked})


async def register(request: Request) -> Reply:
    """A subscriber that the queue must not have yet."""
    await admit(request)
    asked = _subscriber(document(request))
    await in_thread(lambda: registering.register(**asked))
    return answer({name: asked[name] for name in ("subscriber_id", "queue_name")})


def _subscriber(sent: Any) -> dict[str, Any]:
    """An empty callback_url is none: clients with typed fields send it so."""
    return {name: value for name, value in _SUBSCRIBER.of(sent).items() if (name, value) != ("callback_url", "")}


ROUTES = (
    Route(CREATE, ("POST",), create, max_bytes=DOCUMENT_BYTES, refusal=refused),
    Route(REGISTER, ("POST",), register, max_bytes=DOCUMENT_BYTES, refusal=refused),
)
