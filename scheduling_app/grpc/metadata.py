"""GetMetadata: what is there, told to who may speak here."""

import grpc
from dapr.proto.runtime.v1.metadata_pb2 import GetMetadataRequest, GetMetadataResponse, RegisteredComponents

from scheduling_app.dapr.about import COMPONENT_TYPE, COMPONENT_VERSION, about
from scheduling_app.grpc.interceptors import caller


async def get_metadata(_request: GetMetadataRequest, _context: grpc.aio.ServicerContext) -> GetMetadataResponse:
    told = await about(caller())
    kind = {"type": COMPONENT_TYPE, "version": COMPONENT_VERSION}
    return GetMetadataResponse(
        id=told.app_id,
        runtime_version=told.version,
        registered_components=[
            RegisteredComponents(name=one.name, capabilities=one.capabilities, **kind) for one in told.components
        ],
        extended_metadata=told.extended,
    )
