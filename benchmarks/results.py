"""The figures as JSON, with what a reader needs to know of the machine: no names, no paths."""

import json
import os
import platform
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil
import redis

from benchmarks.broker import Broker
from benchmarks.figures import Figure

RESULTS = Path(__file__).parent / "results"


def machine(broker: Broker) -> dict[str, Any]:
    with redis.Redis.from_url(broker.plan.urls["REDIS_URL"]) as client:
        redis_version = client.info("server")["redis_version"]
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "python": platform.python_version(),
        "postgres": broker.value("SHOW server_version"),
        "redis": redis_version,
    }


def as_json(figures: dict[str, list[Figure]], machine: dict[str, Any], now: datetime, *, quick: bool) -> str:
    scenarios = {name: [_figure(one) for one in found] for name, found in figures.items()}
    run = {"taken_at": now.isoformat(timespec="seconds"), "quick": quick, "machine": machine, "scenarios": scenarios}
    return json.dumps(run, indent=1) + "\n"


def _figure(figure: Figure) -> dict[str, Any]:
    return {**asdict(figure), "ratio": figure.ratio, "verdict": figure.verdict}
