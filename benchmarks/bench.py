"""What every scenario is given: a broker, a receiver, and how big to be."""

from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from benchmarks import children
from benchmarks.broker import Broker, Channel
from benchmarks.load import Load, Loaded
from benchmarks.receivers import Receiver

Size = TypeVar("Size", int, float)


@dataclass(frozen=True)
class Bench:
    broker: Broker
    receiver: Receiver
    is_quick: bool

    def size(self, full: Size, quick: Size) -> Size:
        return quick if self.is_quick else full

    def load(self, channel: Channel, **fields: Any) -> Loaded:
        load = Load(port=self.broker.plan.port, channel=channel.name, **fields)
        return Loaded(**children.ask("benchmarks.load", asdict(load)))
