"""The figures as a picture: how far each is from its target."""

from collections.abc import Iterable
from pathlib import Path

from matplotlib.figure import Figure as Picture

from benchmarks.figures import Figure
from benchmarks.table import number

OK, MISSED = "#2a9d8f", "#e76f51"


def draw(figures: Iterable[Figure], path: Path) -> None:
    """One bar a figure with a target, 1 is the target, further right is better. The scale is logarithmic."""
    shown = [figure for figure in figures if figure.target and figure.measured is not None]
    picture = Picture(figsize=(10, 1 + 0.45 * max(1, len(shown))), layout="constrained")
    axes = picture.add_subplot()
    colours = [OK if figure.verdict == "ok" else MISSED for figure in shown]
    bars = axes.barh(
        [_label(figure) for figure in shown], [_reach(figure) - 1 for figure in shown], left=1, color=colours
    )
    axes.bar_label(bars, [f"{_reach(figure):.2g} x" for figure in shown], padding=4)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.margins(x=0.15)
    axes.invert_yaxis()
    axes.set_xlabel("times as good as the target")
    picture.savefig(path, dpi=120)


def _label(figure: Figure) -> str:
    return f"{figure.what}: {number(figure.measured)} {figure.unit}"


def _reach(figure: Figure) -> float:
    """How many times as good as its target."""
    assert figure.target
    value = (figure.ratio if figure.target.of_ratio else figure.measured) or 0.0
    limit = figure.target.limit
    reach = limit / max(value, 1e-9) if figure.target.at_most else value / max(limit, 1e-9)
    # A bar needs an end, also where nothing was measured to divide by.
    return min(max(reach, 0.01), 100.0)
