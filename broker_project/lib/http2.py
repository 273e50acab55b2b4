"""How HTTP/2, which gRPC speaks, begins: enough to see whether somebody at an address speaks it."""

# A client's first bytes, and a frame of no settings: length 3, kind 1, flags 1, stream 4. So begins a server, too.
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
HEAD_BYTES = 9
_SETTINGS = 4


def greets(head: bytes) -> bool:
    """Whether the first bytes of an answer are a server's."""
    return len(head) == HEAD_BYTES and head[3] == _SETTINGS


def host_and_port(address: str) -> tuple[str, int]:
    """Of host:port, or [::1]:port."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)
