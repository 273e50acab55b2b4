"""The figures as a table for people."""

from collections.abc import Iterable

from benchmarks.figures import Figure, Target

HEADINGS = ("what", "measured", "", "reference", "ratio", "target", "")


def write(figures: Iterable[Figure]) -> str:
    rows = [HEADINGS, *(_row(figure) for figure in figures)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(HEADINGS))]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
    cells[1] = row[1].rjust(widths[1])
    return "  ".join(cells).rstrip()


def _row(figure: Figure) -> tuple[str, ...]:
    return (
        figure.what,
        number(figure.measured),
        figure.unit,
        f"{number(figure.reference)} {figure.against}".strip(),
        number(figure.ratio),
        _target(figure.target),
        figure.verdict,
    )


def number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _target(target: Target | None) -> str:
    if target is None:
        return ""
    return f"{'ratio ' if target.of_ratio else ''}{'<=' if target.at_most else '>='} {number(target.limit)}"
