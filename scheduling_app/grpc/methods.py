"""Which of Dapr's calls are answered here, and by what. Any other is UNIMPLEMENTED, as gRPC says by itself."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import grpc
from dapr.proto.runtime.v1 import dapr_pb2
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass

SERVICE = "dapr.proto.runtime.v1.Dapr"
Act = Callable[[Any, grpc.aio.ServicerContext], Awaitable[Any]]

_DEFINED: Mapping[str, MethodDescriptor] = dapr_pb2.DESCRIPTOR.services_by_name["Dapr"].methods_by_name


def handlers(calls: Mapping[str, Act], streams: Mapping[str, Act]) -> grpc.GenericRpcHandler:
    unary = {name: _handler(grpc.unary_unary_rpc_method_handler, name, act) for name, act in calls.items()}
    both = {name: _handler(grpc.stream_stream_rpc_method_handler, name, act) for name, act in streams.items()}
    return grpc.method_handlers_generic_handler(SERVICE, unary | both)


def _handler(make: Callable[..., grpc.RpcMethodHandler], name: str, act: Act) -> grpc.RpcMethodHandler:
    """With the messages that Dapr defines for this call."""
    taken, given = GetMessageClass(_DEFINED[name].input_type), GetMessageClass(_DEFINED[name].output_type)
    return make(act, request_deserializer=taken.FromString, response_serializer=given.SerializeToString)
