"""Draws states as SVG: on a ground of its own, which follows the reader's light or dark."""

from html import escape
from math import hypot

from broker_project.guide.states import START, Machine, Move

STEP_X, STEP_Y = 315, 110
BOX_X, BOX_Y, DOT = 156, 44, 9
EDGE = 24
ARC = 62

STYLE = """
svg { --ground: #f7f8fc; --line: #5b6478; --ink: #1d2433 }
svg { --box: #e3e8fb; --rim: #3f51b5; --end: #e2f1e7; --done: #2e7d4f }
@media (prefers-color-scheme: dark) {
  svg { --ground: #1a1d27; --line: #9aa5bd; --ink: #e8ebf4 }
  svg { --box: #2a325c; --rim: #8c9eff; --end: #1f3a2b; --done: #6fcf97 }
}
.ground { fill: var(--ground) }
.state { fill: var(--box); stroke: var(--rim); stroke-width: 1.5 }
.final { fill: var(--end); stroke: var(--done) }
.dot { fill: var(--line) }
.move { fill: none; stroke: var(--line); stroke-width: 1.5; marker-end: url(#tip) }
.tip { fill: var(--line) }
text { font: 13px system-ui, sans-serif; fill: var(--ink); text-anchor: middle; dominant-baseline: middle }
.name { font-weight: 600; font-size: 14px }
.label { paint-order: stroke; stroke: var(--ground); stroke-width: 7px }
"""
TIP = (
    '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path class="tip" d="M0 0 8 4 0 8z"/></marker>'
)

Point = tuple[float, float]


def svg(machine: Machine) -> str:
    width = max(x for x, _ in machine.places.values()) * STEP_X + BOX_X + _left(machine) + EDGE
    height = max(y for _, y in machine.places.values()) * STEP_Y + BOX_Y + _top(machine) + EDGE
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<title>{escape(machine.title)}</title>",
        f"<style>{STYLE}</style>",
        f"<defs>{TIP}</defs>",
        f'<rect class="ground" width="{width}" height="{height}" rx="10"/>',
        *(_state(machine, name) for name in machine.places),
        *(_move(machine, move) for move in machine.moves),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _top(machine: Machine) -> int:
    """Room for what goes over the first row."""
    return EDGE + ARC if any(move.route == "over" for move in machine.moves) else EDGE


def _left(machine: Machine) -> int:
    """A dot needs less than a box."""
    return EDGE - BOX_X + 2 * DOT if START in machine.places else EDGE


def _centre(machine: Machine, name: str) -> Point:
    """A dot stands as near to the next column as a box would reach."""
    column, row = machine.places[name]
    x = _left(machine) + BOX_X / 2 + column * STEP_X
    return (x + BOX_X / 2 - DOT if name == START else x), _top(machine) + BOX_Y / 2 + row * STEP_Y


def _state(machine: Machine, name: str) -> str:
    x, y = _centre(machine, name)
    if name == START:
        return f'<circle class="dot" cx="{x:g}" cy="{y:g}" r="{DOT}"/>'
    kind = "state final" if name in machine.final else "state"
    corner = f'x="{x - BOX_X / 2:g}" y="{y - BOX_Y / 2:g}"'
    box = f'<rect class="{kind}" {corner} width="{BOX_X}" height="{BOX_Y}" rx="8"/>'
    return f'{box}<text class="name" x="{x:g}" y="{y:g}">{escape(name)}</text>'


def _move(machine: Machine, move: Move) -> str:
    begin, end = _centre(machine, move.source), _centre(machine, move.target)
    path, (x, y) = {"straight": _straight, "over": _over, "elbow": _elbow}[move.route](begin, end, move)
    label = f'<text class="label" x="{x:g}" y="{y:g}">{escape(move.label)}</text>'
    return f'<path class="move" d="{path}"/>{label}'


def _straight(begin: Point, end: Point, move: Move) -> tuple[str, Point]:
    """From rim to rim; the label stands beside the line, on the side that it was shifted to."""
    length = hypot(end[0] - begin[0], end[1] - begin[1])
    along = ((end[0] - begin[0]) / length, (end[1] - begin[1]) / length)
    aside = (-along[1] * move.shift, along[0] * move.shift)
    first = _rim(begin, along, is_dot=move.source == START)
    last = _rim(end, (-along[0], -along[1]), is_dot=False)
    (x1, y1), (x2, y2) = ((x + aside[0], y + aside[1]) for x, y in (first, last))
    return f"M{x1:g} {y1:g}L{x2:g} {y2:g}", _beside(((x1 + x2) / 2, (y1 + y2) / 2), along, aside, move.label)


def _beside(middle: Point, along: Point, aside: Point, label: str) -> Point:
    x, y = middle
    if abs(along[0]) < 0.1:
        to_the_right = 1 if aside[0] >= 0 else -1
        return x + to_the_right * (len(label) * 3.4 + 10), y
    if abs(along[1]) > 0.1:
        return x, y
    return x, y + (13 if aside[1] > 0 else -13)


def _rim(centre: Point, along: Point, *, is_dot: bool) -> Point:
    """Where a line that leaves the centre crosses the box."""
    if is_dot:
        return centre[0] + along[0] * DOT, centre[1] + along[1] * DOT
    reach = min(BOX_X / 2 / abs(along[0] or 1e-9), BOX_Y / 2 / abs(along[1] or 1e-9))
    return centre[0] + along[0] * reach, centre[1] + along[1] * reach


def _over(begin: Point, end: Point, move: Move) -> tuple[str, Point]:
    """From roof to roof, above what is between them."""
    (x1, y1), (x2, y2) = ((x, y - BOX_Y / 2) for x, y in (begin, end))
    peak = min(y1, y2) - ARC
    return f"M{x1:g} {y1:g}C{x1:g} {peak:g} {x2:g} {peak:g} {x2:g} {y2:g}", ((x1 + x2) / 2, peak + ARC / 4)


def _elbow(begin: Point, end: Point, move: Move) -> tuple[str, Point]:
    """Between a box above to the left, by its floor, and one below to the right, by its side."""
    upper, lower = (begin, end) if begin[1] < end[1] else (end, begin)
    x1, y1 = upper[0] - move.shift * 2, upper[1] + BOX_Y / 2
    x2, y2 = lower[0] - BOX_X / 2, lower[1] + move.shift
    points = [(x1, y1), (x1, y2), (x2, y2)]
    way = points if upper == begin else points[::-1]
    path = "M" + "L".join(f"{x:g} {y:g}" for x, y in way)
    return path, ((x1 + x2) / 2 + 8, y2 + (13 if move.shift > 0 else -13))
