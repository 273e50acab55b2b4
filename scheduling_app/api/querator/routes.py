"""The addresses of this door. All of them are the frame's: refusals have Querator's shape, whoever refuses."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace

from broker_project.api.frame import Request, Route
from broker_project.api.reply import Reply
from scheduling_app.api.querator import calls, lease, produce, settle
from scheduling_app.api.querator.door import gate, shown
from scheduling_app.querator.errors import NoSuchCall

KIB = 1024


async def unknown(request: Request) -> Reply:
    raise NoSuchCall(f"no such method; {request.path[:200]}")


def _route(path: str, handler: Callable[[Request], Awaitable[Reply]], max_bytes: int = 256 * KIB) -> Route:
    return Route(re.compile(path), ("POST",), handler, max_bytes=max_bytes, gate=gate, refusal=shown)


ROUTES = (
    _route(r"/v1/queue\.produce", produce.produce, produce.MOST_BYTES),
    replace(_route(r"/v1/queue\.lease", lease.lease), watched=True),
    _route(r"/v1/queue\.complete", settle.complete),
    _route(r"/v1/queue\.retry", settle.retry),
    _route(r"/v1/queue\.stats", calls.stats_of),
    _route(r"/v1/queue\.clear", calls.clear),
    _route(r"/v1/queues\.create", calls.create),
    _route(r"/v1/queues\.list", calls.listed),
    _route(r"/v1/queues\.info", calls.info),
    _route(r"/v1/queues\.update", calls.update),
    _route(r"/v1/queues\.delete", calls.delete),
    _route(r"/v1/storage/items\.list", calls.stored_items),
    _route(r"/v1/storage/scheduled\.list", calls.stored_scheduled),
    _route(r"/v1/(?:queue|queues|storage/items|storage/scheduled)\.[^/]*", unknown),
)
