"""The end of a listener: nobody who was let in is cut off, as who stands in its queue when it closes would be.

The kernel lets connections in by itself, so that one could come between the last look at the queue and the close.
"""

import ctypes
import os
import socket
import struct
import sys
from asyncio import Server
from collections.abc import Iterable
from contextlib import suppress

# <asm-generic/socket.h>: Python has no name for it.
SO_ATTACH_FILTER = 26
# For the kernel's packet filter, over a packet's TCP header: what has SYN and not ACK is dropped, all else may pass.
_NO_NEWCOMERS = ((0x30, 0, 0, 13), (0x54, 0, 0, 0x12), (0x15, 0, 1, 0x02), (0x06, 0, 0, 0), (0x06, 0, 0, 0xFFFFFFFF))


def turn_away(listener: socket.socket) -> None:
    """From now on who asks to connect hears nothing: a second later it asks again, and then it is refused.

    Who is already shaking hands gets in. Where there is no such filter (no Linux, or a sandbox that plays its kernel)
    nothing is done.
    """
    if sys.platform != "linux":
        return
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in _NO_NEWCOMERS))
    asked = struct.pack("HP", len(_NO_NEWCOMERS), ctypes.addressof(program))
    with suppress(OSError):
        listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, asked)


def listeners_of(servers: Iterable[Server]) -> list[socket.socket]:
    """Handles of our own: the loop's may be no more than a look at them."""
    return [socket.socket(fileno=os.dup(one.fileno())) for server in servers for one in server.sockets]


def accept_all(listener: socket.socket) -> list[socket.socket]:
    listener.setblocking(False)
    accepted = []
    while True:
        try:
            accepted.append(listener.accept()[0])
        except OSError:
            return accepted
