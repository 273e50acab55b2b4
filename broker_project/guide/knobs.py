"""Which knobs there are, from the settings' own source: their files, parsers, defaults and sentences."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]
SETTINGS = TOP / "broker_project" / "settings"
# What defaults are made of besides literals.
NAMES = {"BASE_DIR": Path()}


@dataclass(frozen=True)
class Knob:
    name: str
    file: str
    # The method of environs that parses it.
    parser: str
    sentence: str
    default: Any = None
    required: bool = False
    secret: bool = False


def read_knobs() -> dict[str, Knob]:
    """By name. A knob of two profiles is production's; its sentence stands in either."""
    knobs: dict[str, Knob] = {}
    for path in sorted(SETTINGS.glob("*.py")):
        for knob in _of(path):
            known = knobs.get(knob.name)
            sentence = knob.sentence or (known.sentence if known else "")
            knobs[knob.name] = Knob(**vars(knob) | {"sentence": sentence})
    return knobs


def _of(path: Path) -> Iterator[Knob]:
    """A name that is put together, as in NAME_FILE, is not a knob of its own."""
    source = path.read_text()
    for node in sorted(ast.walk(ast.parse(source)), key=lambda node: getattr(node, "lineno", 0)):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="env"), attr=parser),
                args=[ast.Constant(value=str(name)), *defaults],
            ):
                sentence = _sentence_above(source, node.lineno)
                yield Knob(name, path.name, parser, sentence, default=_value(defaults), required=not defaults)
            case ast.Call(func=ast.Name(id="several_from_environment"), args=[ast.Constant(value=str(name))]):
                sentence = _sentence_above(source, node.lineno)
                yield Knob(name, path.name, "list", sentence, default=[], secret=True)
            case ast.Call(
                func=ast.Name(id="from_environment" | "production_secret" | "production_secrets"),
                args=[ast.Constant(value=str(name)), *defaults],
            ):
                sentence = _sentence_above(source, node.lineno)
                default = _value(defaults)
                yield Knob(name, path.name, "str", sentence, default, required=not defaults, secret=True)


def _value(expressions: list[ast.expr]) -> Any:
    """Defaults may be computed, as 1024 * 1024 is."""
    if not expressions:
        return None
    return eval(compile(ast.Expression(expressions[0]), "default", "eval"), NAMES)  # noqa: S307  # our own source


def _sentence_above(source: str, lineno: int) -> str:
    """The comment right above a knob; a neighbour's does not count."""
    above = source.splitlines()[lineno - 2]
    return above.removeprefix("# ") if above.startswith("# ") else ""
