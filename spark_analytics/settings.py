"""The knobs, from the environment: broker_project/settings/broker.py says what each is."""

import os
from dataclasses import dataclass
from pathlib import Path

from spark_analytics.errors import BadNiceness, NoSecret


@dataclass(frozen=True)
class Settings:
    database_url: str
    # Where rows are read: the same, or a replica of it.
    reads_url: str
    lake_url: str
    payloads: bool


def from_environment() -> Settings:
    database = _given("DATABASE_URL") or "postgresql://broker@localhost/broker"
    return Settings(
        database_url=database,
        reads_url=_given("ANALYTICS_DATABASE_URL") or database,
        lake_url=(os.environ.get("LAKE_URL") or str(data_dir() / "lake")).rstrip("/"),
        payloads=os.environ.get("LAKE_PAYLOADS", "").lower() in ("1", "true", "yes", "on"),
    )


def _given(name: str) -> str:
    """NAME, or what the file that NAME_FILE names holds: the file wins, as everywhere in the broker."""
    path = os.environ.get(f"{name}_FILE", "")
    if not path:
        return os.environ.get(name, "")
    try:
        held = Path(path).read_text().strip()
    except OSError as error:
        raise NoSecret(f"{name}_FILE: {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        held = ""
    if not held:
        raise NoSecret(f"{name}_FILE: {path} is empty or not text.")
    return held


def niceness() -> int:
    """None is below 0: nothing of Spark's is to go before the traffic."""
    try:
        return min(19, max(0, int(os.environ.get("SPARK_NICENESS") or 10)))
    except ValueError:
        raise BadNiceness from None


def data_dir() -> Path:
    return Path(os.environ.get("BROKER_DATA_DIR") or ".broker").resolve()
