"""PublishEvent and BulkPublishEvent: the acts of the door over HTTP, with gRPC's messages."""

import grpc
from dapr.proto.runtime.v1.pubsub_pb2 import (
    BulkPublishRequest,
    BulkPublishResponse,
    BulkPublishResponseFailedEntry,
    PublishEventRequest,
)
from django.conf import settings
from google.protobuf.empty_pb2 import Empty

from scheduling_app.api.broadcast_batch import room
from scheduling_app.dapr.bulk import BulkEntry, publish_bulk
from scheduling_app.dapr.cloudevents import Trace
from scheduling_app.dapr.errors import PayloadTooLarge
from scheduling_app.dapr.publish import publish
from scheduling_app.grpc.interceptors import caller


async def publish_event(request: PublishEventRequest, context: grpc.aio.ServicerContext) -> Empty:
    """The server takes larger messages than this, for bulk requests."""
    if len(request.data) > settings.MAX_PAYLOAD_BYTES:
        raise PayloadTooLarge(f"An event has at most {settings.MAX_PAYLOAD_BYTES} bytes.")
    await publish(
        caller(),
        pubsub=request.pubsub_name,
        topic=request.topic,
        data=request.data,
        content_type=request.data_content_type,
        metadata=dict(request.metadata),
        trace=_trace(context),
    )
    return Empty()


async def publish_events(request: BulkPublishRequest, context: grpc.aio.ServicerContext) -> BulkPublishResponse:
    """As Dapr answers it: what is wrong with some entries stands in the answer, and is no error."""
    with room.hold(request.ByteSize()):
        failed = await publish_bulk(
            caller(),
            pubsub=request.pubsub_name,
            topic=request.topic,
            entries=[
                BulkEntry(one.entry_id, one.event, one.content_type, dict(one.metadata)) for one in request.entries
            ],
            metadata=dict(request.metadata),
            trace=_trace(context),
        )
    entries = [BulkPublishResponseFailedEntry(entry_id=one.entry_id, error=one.error) for one in failed]
    return BulkPublishResponse(failedEntries=entries)


def _trace(context: grpc.aio.ServicerContext) -> Trace:
    given = {name: value for name, value in context.invocation_metadata() or () if isinstance(value, str)}
    return Trace(given.get("traceparent", ""), given.get("tracestate", ""))
