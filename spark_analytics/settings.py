"""The knobs, from the environment: broker_project/settings/broker.py says what each is."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    database_url: str
    # Where rows are read: the same, or a replica of it.
    reads_url: str
    lake_url: str
    payloads: bool


def from_environment() -> Settings:
    database = os.environ.get("DATABASE_URL") or "postgresql://broker@localhost/broker"
    return Settings(
        database_url=database,
        reads_url=os.environ.get("ANALYTICS_DATABASE_URL") or database,
        lake_url=(os.environ.get("LAKE_URL") or str(data_dir() / "lake")).rstrip("/"),
        payloads=os.environ.get("LAKE_PAYLOADS", "").lower() in ("1", "true", "yes", "on"),
    )


def data_dir() -> Path:
    return Path(os.environ.get("BROKER_DATA_DIR") or ".broker").resolve()
