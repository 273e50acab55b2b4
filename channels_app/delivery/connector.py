"""Opens connections for deliveries, and judges each address as it is connected to."""

import errno
import socket
from collections.abc import Callable
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver

from broker_project.lib.egress import Egress, EgressDenied


class GuardedConnector(aiohttp.TCPConnector):
    """Hosts that are allowed by name have a connector of their own, which judges no address.

    They share neither connections nor remembered addresses with the rest: what was found for one of them is worth
    nothing to another name.
    """

    def __init__(self, egress: Egress, resolver: AbstractResolver, **options: Any) -> None:
        super().__init__(resolver=resolver, socket_factory=_guarded(egress), **options)
        self._egress = egress
        self._for_allowed_hosts = aiohttp.TCPConnector(resolver=resolver, **options)

    async def connect(self, req: aiohttp.ClientRequest, *args: Any, **kwargs: Any) -> Any:
        if self._egress.names(req.url.raw_host or ""):
            return await self._for_allowed_hosts.connect(req, *args, **kwargs)
        return await super().connect(req, *args, **kwargs)

    async def close(self, **kwargs: Any) -> None:
        await self._for_allowed_hosts.close(**kwargs)
        await super().close(**kwargs)


def _guarded(egress: Egress) -> Callable[[Any], socket.socket]:
    """The last judge: a resolver would never see an IP literal."""

    def make_socket(info: Any) -> socket.socket:
        family, kind, protocol, _, address = info
        if not egress.permits(address[0]):
            # The same words for each address: of errors that differ the connector makes one that says less.
            raise EgressDenied(errno.EACCES, "not an address that messages may be sent to; see EGRESS_ALLOW")
        made = socket.socket(family, kind, protocol)
        made.setblocking(False)
        return made

    return make_socket
