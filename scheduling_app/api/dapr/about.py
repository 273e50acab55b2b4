"""Dapr's health and metadata over HTTP. Health is open; what is there is told to who may speak here."""

import asyncio
import json
import re

from django.conf import settings

from broker_project.api.frame import Request, Route
from broker_project.api.health import READS, Check, database_answers, is_well
from broker_project.api.reply import Reply
from broker_project.lib import http2
from scheduling_app.api.dapr.head import caller_behind, head_of
from scheduling_app.api.dapr.reply import DONE, door_refusal
from scheduling_app.dapr.about import COMPONENT_TYPE, COMPONENT_VERSION, about
from scheduling_app.dapr.errors import DaprError

HEALTH = re.compile(r"/v1\.0/healthz(?:/outbound)?")
METADATA = re.compile(r"/v1\.0/metadata")
_DATABASE = Check("database", database_answers, essential=True)


class NotReady(DaprError):
    """The broker cannot store anything now."""

    status = 500
    error_code = reason = "ERR_HEALTH_NOT_READY"
    grpc_code = "UNAVAILABLE"


async def health(request: Request) -> Reply:
    if not await is_well(_DATABASE):
        raise NotReady
    if settings.GRPC_ADDRESS and request.path.endswith("/outbound") and not await is_well(_GRPC):
        raise NotReady("The gRPC door does not answer now.")
    return DONE


async def _grpc_answers() -> bool:
    """An SDK whose stream was cut off waits for this before it subscribes anew, a few times only."""
    reader, writer = await asyncio.open_connection(*http2.host_and_port(settings.GRPC_ADDRESS))
    try:
        writer.write(http2.GREETING)
        return http2.greets(await reader.read(http2.HEAD_BYTES))
    finally:
        writer.close()


_GRPC = Check("grpc", _grpc_answers)


async def metadata(request: Request) -> Reply:
    told = await about(await caller_behind(request, head_of(request.headers)))
    components = [
        {"name": one.name, "type": COMPONENT_TYPE, "version": COMPONENT_VERSION, "capabilities": one.capabilities}
        for one in told.components
    ]
    document = {
        "id": told.app_id,
        "runtimeVersion": told.version,
        "enabledFeatures": [],
        "actors": [],
        "components": components,
        "extended": told.extended,
        "subscriptions": [],
    }
    return Reply(200, json.dumps(document).encode())


ROUTES = (
    Route(HEALTH, READS, health, signed=False, refusal=door_refusal),
    Route(METADATA, READS, metadata, refusal=door_refusal),
)
