"""Reference: every setting with its sentence and its default, from the settings' own source."""

from itertools import groupby
from typing import Any

from broker_project.guide.knobs import Knob, read_knobs
from broker_project.guide.table import table

HEAD = """# Settings

Each is read from the environment, then from `.env` beside `./broker`; `.env.example` has the same lines to copy. A
change is known after a restart. `SECRET_KEY`, `TOKEN_KEYS` and `FLOWER_PASSWORD` may also be given as `NAME_FILE`, a
file that holds them.
"""
TITLES = {
    "broker.py": "The broker",
    "environment.py": "Where data is kept",
    "base.py": "The database",
    "celery.py": "Redis",
    "logs.py": "Logs",
    "production.py": "Production",
}


def page() -> str:
    knobs = sorted(read_knobs().values(), key=lambda knob: _place(knob.file))
    sections = [_section(file, list(of)) for file, of in groupby(knobs, key=lambda knob: knob.file)]
    return "\n".join([HEAD, *sections])


def _place(file: str) -> tuple[int, str]:
    """The broker's own first; a file that has no title of its own comes last."""
    order = list(TITLES)
    return (order.index(file) if file in order else len(order), file)


def _section(file: str, knobs: list[Knob]) -> str:
    rows = [(f"`{knob.name}`", _default(knob), knob.sentence) for knob in knobs]
    return f"## {TITLES.get(file, file.removesuffix('.py').title())}\n\n" + table(("name", "default", "meaning"), rows)


def _default(knob: Knob) -> str:
    if knob.required:
        return "needed in production" if knob.secret else "needed"
    return f"`{_shown(knob.default)}`" if _shown(knob.default) else "none"


def _shown(value: Any) -> str:
    """As it is written in .env."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, list) else str(value)
