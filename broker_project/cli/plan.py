"""Where a broker is reached, and the environment that tells its processes."""

import os
import socket
from dataclasses import dataclass, field
from pathlib import Path

from broker_project.cli.surroundings import DEFAULT_SETTINGS
from broker_project.embedded.places import digest
from broker_project.lib import secret_files

LOOPBACK = "127.0.0.1"
# Where a server that listens everywhere is reached from here.
EVERYWHERE = {"0.0.0.0": LOOPBACK, "::": "::1"}  # noqa: S104
# Celery's command line takes these for the address of its Redis, before any setting.
CELERYS_OWN = {"BROKER_URL", "CELERY_BROKER_URL"}


@dataclass(frozen=True)
class Plan:
    data_dir: Path
    host: str = LOOPBACK
    port: int = 8000
    background: bool = False
    # The URLs of the embedded services that run; none for those the user brought.
    urls: dict[str, str] = field(default_factory=dict)

    @property
    def web(self) -> str:
        host = EVERYWHERE.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def flower(self) -> str:
        return f"http://{LOOPBACK}:{self.port + 1}"

    @property
    def echo(self) -> str:
        return f"http://{LOOPBACK}:{self.port + 2}"

    @property
    def grpc(self) -> str:
        host = EVERYWHERE.get(self.host, self.host)
        return f"[{host}]:{self.port + 3}" if ":" in host else f"{host}:{self.port + 3}"

    @property
    def listens(self) -> list[tuple[str, int]]:
        own = [(LOOPBACK, self.port + 1), (LOOPBACK, self.port + 2)]
        return [(self.host, self.port), *own, (self.host, self.port + 3)]

    @property
    def node(self) -> str:
        """The end of a worker's name: brokers that share a Redis must not share names."""
        return f"{digest(self.data_dir)}@{socket.gethostname()}"

    def environment(self) -> dict[str, str]:
        """What every process of the broker is told. What the user set wins, but for what this broker really uses."""
        defaults = {
            "DJANGO_SETTINGS_MODULE": DEFAULT_SETTINGS,
            "PUBLIC_URL": self.web,
            "FLOWER_URL": self.flower,
            "ECHO_URL": self.echo,
            # Beside a gateway that signs requests that door is not opened: nobody is to wait for it.
            "GRPC_ADDRESS": "" if secret_files.is_given("GATEWAY_SECRETS", os.environ) else self.grpc,
        }
        given = {name: value for name, value in os.environ.items() if value and name not in CELERYS_OWN}
        return defaults | given | self.urls | {"BROKER_DATA_DIR": str(self.data_dir), "PYTHONUNBUFFERED": "1"}
