"""uvicorn's server with a farewell: whoever stands behind a balancer can be replaced without a request being lost.

Asked to stop, it goes on answering for a while, and each answer says `Connection: close`. So a proxy hangs up by
itself: a connection that we closed under it could be carrying its next request, which nobody dares to send twice.
"""

import asyncio
import os
import socket
from collections.abc import Callable

from django.conf import settings
from uvicorn import Config, Server
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess, multiprocess

from broker_project.api import ending

# What was let in at the very end has its request on the way.
LAST_SECONDS = 1.0
LOOK_SECONDS = 0.02


class DrainingServer(Server):
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        ending.end()
        # In place: the requests of this second carry this very list.
        self.server_state.default_headers.append(ending.CLOSE)
        await self._wait_for_farewells(settings.WEB_DRAIN_SECONDS)
        await self._let_the_last_in()
        await self._wait_for_farewells(LAST_SECONDS)
        await super().shutdown(sockets)

    async def _wait_for_farewells(self, seconds: float) -> None:
        deadline = asyncio.get_running_loop().time() + seconds
        while self.server_state.connections and asyncio.get_running_loop().time() < deadline:
            if self.force_exit:
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def _let_the_last_in(self) -> None:
        """Who stands in the queue of a listener that closes is refused in the middle of a request: take them first."""
        loop = asyncio.get_running_loop()
        waiting = [connection for server in self.servers for connection in _queue_of(server)]
        for connection in waiting:
            await loop.connect_accepted_socket(self._protocol, connection)

    def _protocol(self) -> asyncio.Protocol:
        """As uvicorn makes one for each connection; its type says nothing of what it takes."""
        make: Callable[..., asyncio.Protocol] = self.config.http_protocol_class
        return make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)


def _queue_of(server: asyncio.Server) -> list[socket.socket]:
    """Empties it and closes the listener, with nothing in between."""
    listeners = [socket.socket(fileno=os.dup(one.fileno())) for one in server.sockets]
    waiting = [connection for listener in listeners for connection in _accept_all(listener)]
    server.close()
    for listener in listeners:
        listener.close()
    return waiting


def _accept_all(listener: socket.socket) -> list[socket.socket]:
    listener.setblocking(False)
    accepted = []
    while True:
        try:
            accepted.append(listener.accept()[0])
        except OSError:
            return accepted


class DrainingProcess(multiprocess.Process):
    @property
    def server(self) -> Server:
        if self._server is None:
            self._server = DrainingServer(self.config)
        return self._server


class Processes(Multiprocess):
    def terminate_all(self) -> None:
        """The listener is the children's now: with the last of them it closes."""
        for listener in self.sockets:
            listener.close()
        super().terminate_all()


def run(config: Config) -> int:
    """Until it is asked to stop; returns the exit code."""
    if config.workers > 1:
        # The name that uvicorn's supervisor makes its children by.
        multiprocess.Process = DrainingProcess  # type: ignore[misc]
        Processes(config, sockets=[config.bind_socket()]).run()
        return 0
    server = DrainingServer(config)
    server.run()
    return 0 if server.started else STARTUP_FAILURE
