"""The benchmark's end of the receiver."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks import children


@dataclass(frozen=True)
class Received:
    at: list[float]
    under_way_ms: list[float]

    @property
    def count(self) -> int:
        return len(self.at)

    def sent_between(self, began: float, ended: float) -> list[float]:
        """How long those were under way that were sent then, in ms."""
        both = zip(self.at, self.under_way_ms, strict=True)
        return [took for at, took in both if began <= at - took / 1000 <= ended]


@dataclass(frozen=True)
class Receiver:
    port: int

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def seen(self, path: str) -> Received:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", f"/seen{path}")
            return Received(**json.loads(connection.getresponse().read()))
        finally:
            connection.close()


@contextmanager
def receiving() -> Iterator[Receiver]:
    with children.running("benchmarks.receiver") as said:
        yield Receiver(said["port"])
