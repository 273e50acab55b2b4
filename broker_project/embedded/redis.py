"""A Redis out of a wheel. It only rings doorbells: nothing is kept on disk, and nothing is ever evicted."""

import socket
from dataclasses import dataclass
from pathlib import Path

from broker_project.embedded import strays
from broker_project.embedded.account import Account


@dataclass(frozen=True)
class Redis:
    program: Path
    sockets: Path
    account: Account

    @property
    def socket(self) -> Path:
        return self.sockets / "redis.sock"

    @property
    def url(self) -> str:
        return f"unix://{self.socket}?db=0"

    def prepare(self) -> None:
        strays.end("redis-server", self.sockets)

    def command(self) -> list[str]:
        return [str(self.program), "--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700",
                "--dir", str(self.sockets), "--save", "", "--appendonly", "no",
                "--maxmemory-policy", "noeviction", "--databases", "64"]  # fmt: skip

    def answers(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(2)
                client.connect(str(self.socket))
                client.sendall(b"PING\r\n")
                return client.recv(16).startswith(b"+PONG")
        except OSError:
            return False
