"""Times a sweep that finds nothing due: the look along the lanes, and a dispatch in vain. Again and again."""

import json
import sys
import time
from statistics import median
from typing import Any

import django

django.setup()

from django.conf import settings

from scheduling_app import dispatch
from scheduling_app.dispatch import Lane


def main(told: dict[str, Any]) -> None:
    lane = Lane(told["channel"], 0)
    _once(lane)
    print(json.dumps({"median_ms": median(_once(lane) for _ in range(told["times"]))}))


def _once(lane: Lane) -> float:
    began = time.perf_counter()
    due = dispatch.lanes_due(settings.SCHEDULER_INTERVAL_SECONDS)
    done = dispatch.dispatch_batch(lane)
    took = (time.perf_counter() - began) * 1000
    assert not due
    assert done.is_empty
    return took


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
