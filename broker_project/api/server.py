"""uvicorn's server with a farewell: whoever stands behind a balancer can be replaced without a request being lost.

Asked to stop, it goes on answering for a while, and each answer says `Connection: close`. So a proxy hangs up by
itself: a connection that we closed under it could be carrying its next request, which nobody dares to send twice.
"""

import asyncio
import socket
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized

from django.conf import settings
from uvicorn import Config, Server
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess, multiprocess

from broker_project.api import ending, last_call

# What was let in at the very end has its request on the way.
LAST_SECONDS = 1.0
# For handshakes that have begun to end. Short: who comes meanwhile waits a second to be refused.
HANDSHAKE_SECONDS = 0.02
LOOK_SECONDS = 0.02


class DrainingServer(Server):
    def __init__(self, config: Config, is_last: Callable[[], bool] = lambda: True) -> None:
        super().__init__(config)
        self._is_last = is_last

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
        """Whose listener others share closes it, and they go on; the last of them sees that nobody else comes."""
        listeners = last_call.listeners_of(self.servers)
        if self._is_last():
            for listener in listeners:
                last_call.turn_away(listener)
            await asyncio.sleep(HANDSHAKE_SECONDS)
        for server in self.servers:
            server.close()
        waiting = [connection for listener in listeners for connection in last_call.accept_all(listener)]
        for listener in listeners:
            listener.close()
        loop = asyncio.get_running_loop()
        for connection in waiting:
            await loop.connect_accepted_socket(self._protocol, connection)

    def _protocol(self) -> asyncio.Protocol:
        """As uvicorn makes one for each connection; its type says nothing of what it takes."""
        make: Callable[..., asyncio.Protocol] = self.config.http_protocol_class
        return make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)


class DrainingProcess(multiprocess.Process):
    """`left`: when all are told to stop, how many have yet to let go of the listener they share."""

    def __init__(self, left: "Synchronized[int]", config: Config, sockets: list[socket.socket]) -> None:
        self._left = left
        super().__init__(config, sockets)

    @property
    def server(self) -> Server:
        if self._server is None:
            self._server = DrainingServer(self.config, self._is_last)
        return self._server

    def _is_last(self) -> bool:
        """Never where a process alone is ended, and others go on."""
        with self._left:
            self._left.value -= 1
            return self._left.value == 0


class Processes(Multiprocess):
    def __init__(self, left: "Synchronized[int]", config: Config, sockets: list[socket.socket]) -> None:
        self._left = left
        super().__init__(config, sockets)

    def terminate_all(self) -> None:
        """The listener is the children's now: with the last of them it closes."""
        for listener in self.sockets:
            listener.close()
        self._left.value = len(self.processes)
        super().terminate_all()


def run(config: Config) -> int:
    """Until it is asked to stop; returns the exit code."""
    if config.workers > 1:
        left = get_context("spawn").Value("i", 0)
        # The name that uvicorn's supervisor makes its children by.
        multiprocess.Process = partial(DrainingProcess, left)  # type: ignore[misc, assignment]
        Processes(left, config, [config.bind_socket()]).run()
        return 0
    server = DrainingServer(config)
    server.run()
    return 0 if server.started else STARTUP_FAILURE
