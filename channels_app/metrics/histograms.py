"""Histograms as fields of a hash: a count per bucket and a sum, which processes add to and a scrape reads."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from prometheus_client.utils import floatToGoString

SUM = "sum"


@dataclass(frozen=True)
class Histogram:
    """A name in Redis, and the upper bounds of its buckets in seconds."""

    name: str
    bounds: tuple[float, ...]

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """The bounds in words, the open one last."""
        return tuple(map(floatToGoString, (*self.bounds, float("inf"))))

    def observe(self, outcome: str, seconds: Sequence[float]) -> Iterator[tuple[str, float]]:
        """The fields that these times add to, and how much."""
        for place, count in Counter(bisect_left(self.bounds, one) for one in seconds).items():
            yield f"{self.name}|{outcome}|{self.marks[place]}", count
        yield f"{self.name}|{outcome}|{SUM}", sum(seconds)

    def read(self, fields: Mapping[str, float]) -> Iterator[tuple[str, list[tuple[str, float]], float]]:
        """Each outcome with its buckets, added up as Prometheus wants them, and its sum."""
        for outcome in sorted({field.split("|")[1] for field in fields if field.startswith(f"{self.name}|")}):
            buckets, so_far = [], 0.0
            for mark in self.marks:
                so_far += fields.get(f"{self.name}|{outcome}|{mark}", 0.0)
                buckets.append((mark, so_far))
            yield outcome, buckets, fields.get(f"{self.name}|{outcome}|{SUM}", 0.0)


# A push waits 120 seconds for its answer at the most.
DELIVERY = Histogram("delivery", (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0))
# From published to the first word of the consumer that has it.
FIRST_ACK = Histogram(
    "first_ack", (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 600.0, 3600.0, 86400.0)
)
# A job lives for a day, unless its channel says otherwise.
END_TO_END = Histogram(
    "end_to_end",
    (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 21600.0, 86400.0),
)
