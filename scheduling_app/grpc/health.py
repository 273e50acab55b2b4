"""gRPC's own health question, for whoever starts and watches this process. It asks for no token and shows nothing.

The messages are so small that they are written here: {status: SERVING}, and a request that names a service or none.
"""

import grpc

SERVICE = "grpc.health.v1.Health"
SERVING = b"\x08\x01"


async def check(_request: bytes, _context: grpc.aio.ServicerContext) -> bytes:
    return SERVING


HANDLERS = grpc.method_handlers_generic_handler(SERVICE, {"Check": grpc.unary_unary_rpc_method_handler(check)})
