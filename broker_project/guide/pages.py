"""All generated files of the guide by name, and how they are written."""

from collections.abc import Callable, Iterator
from pathlib import Path

from broker_project.guide import commands, drawing, http, reasons, settings, states

DOCS = Path(__file__).resolve().parents[2] / "docs"
NOTE = "<!-- Written by `./broker docs` from the code; do not edit. -->\n\n"

REFERENCE: dict[str, Callable[[], str]] = {
    "reference/commands.md": commands.page,
    "reference/settings.md": settings.page,
    "reference/http.md": http.page,
    "reference/reasons.md": reasons.page,
}


def generated() -> Iterator[tuple[str, str]]:
    for name, page in REFERENCE.items():
        yield name, NOTE + page()
    for name, machine in states.MACHINES.items():
        yield f"pictures/states/{name}.svg", drawing.svg(machine)


def write_all(docs: Path) -> list[str]:
    """Returns the names of what has changed."""
    return [name for name, text in generated() if _write(docs / name, text)]


def _write(path: Path, text: str) -> bool:
    if path.exists() and path.read_text() == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return True
