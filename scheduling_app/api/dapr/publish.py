"""Dapr's publish door: POST or PUT /v1.0/publish/{pubsub}/{topic…}, 204 when it is stored."""

import re

from django.conf import settings

from broker_project.api.express import Pending, Plain
from broker_project.api.frame import Request, Route
from broker_project.api.reply import Reply
from broker_project.lib.errors import BrokerError
from scheduling_app.api.dapr.head import caller_behind, head_of, known_caller, metadata_of
from scheduling_app.api.dapr.reply import DONE, refusal
from scheduling_app.dapr.publish import publish, put_at_hand

# A topic may have slashes, and be missing. What begins with bulk/ is the bulk door's.
PATH = re.compile(r"/v1\.0/publish/(?!bulk/)([^/]*)(?:/(.*))?", re.DOTALL)


async def publish_event(request: Request) -> Reply:
    head = head_of(request.headers)
    caller = await caller_behind(request, head)
    pubsub, topic = PATH.fullmatch(request.path).groups("")  # type: ignore[union-attr]
    await publish(
        caller,
        pubsub=pubsub,
        topic=topic,
        data=request.body,
        content_type=head.content_type,
        metadata=metadata_of(request.query),
        trace=head.trace,
    )
    return DONE


def plain(request: Plain) -> Pending | None:
    """The short way in: caller, component and topic are known, nothing is limited, there is no metadata."""
    named = PATH.fullmatch(request.path)
    if named is None:
        return None
    head = head_of(request.headers)
    caller = known_caller(head)
    if caller is None:
        return None
    try:
        done = put_at_hand(
            caller,
            pubsub=named[1],
            topic=named[2] or "",
            data=request.body,
            content_type=head.content_type,
            trace=head.trace,
        )
    except BrokerError:
        # The long way says why.
        return None
    return Pending(done, refusal=refusal) if done is not None else None


ROUTES = (
    Route(
        PATH,
        ("POST", "PUT"),
        publish_event,
        max_bytes=settings.MAX_PAYLOAD_BYTES,
        quiet=True,
        refusal=refusal,
    ),
)
