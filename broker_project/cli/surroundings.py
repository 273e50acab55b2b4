"""Where the command line works: the repository, the environment with .env, and the data directory."""

import os
from pathlib import Path

from dotenv import load_dotenv

from broker_project.embedded import VARIABLES
from broker_project.lib import secret_files

TOP = Path(__file__).resolve().parents[2]
DEFAULT_SETTINGS = "broker_project.settings.development"


def load() -> None:
    """Put .env behind the environment, as the settings do. A relative data directory is the namer's: caller or .env."""
    named_by_caller = os.environ.get("BROKER_DATA_DIR")
    load_dotenv(TOP / ".env")
    base = Path.cwd() if named_by_caller else TOP
    data_dir = base / (os.environ.get("BROKER_DATA_DIR") or ".broker")
    os.environ["BROKER_DATA_DIR"] = str(data_dir.resolve())
    _read_files()


def _read_files() -> None:
    """Where the databases are must be known here, too: their URLs take the embedded ones' place."""
    for name in VARIABLES.values():
        if os.environ.get(f"{name}_FILE"):
            os.environ[name] = secret_files.given(name, os.environ)
            del os.environ[f"{name}_FILE"]


def data_dir() -> Path:
    return Path(os.environ["BROKER_DATA_DIR"])


def embedded_services() -> list[str]:
    """The services that are ours to start: those that no URL is given for."""
    return [name for name, variable in VARIABLES.items() if not os.environ.get(variable)]
