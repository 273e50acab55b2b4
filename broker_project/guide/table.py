"""A table in Markdown."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    """A bar would end the cell, a new line the row, and what stands in angle brackets would be taken for HTML."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
