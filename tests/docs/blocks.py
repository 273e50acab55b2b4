"""What stands in the pages: their blocks, each with what is said to come of it.

An `sh` block is run. An `output` block right under it is what it prints, with … for anything. A `console` block is not
run, and stands in the list of those with the reason. An `ini` block is lines for .env.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from textwrap import dedent

from tests.acceptance.servers import ROOT

FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
# What only reads, and may be asked again until it shows what is waited for.
LOOKS = re.compile(r"(curl -s '?http(?!.* -(X|d|D|T)\b)|cat )")


@dataclass(frozen=True)
class Block:
    page: str
    language: str
    text: str
    output: str = ""

    @property
    def is_look(self) -> bool:
        return all(LOOKS.match(command) for command in self.commands)

    @property
    def commands(self) -> list[str]:
        return [line for line in self.text.replace("\\\n", " ").splitlines() if line.strip()]


def pages() -> list[str]:
    """Of the guide, and those at the top that have commands."""
    docs = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md"))]
    return ["README.md", "CONTRIBUTING.md", *docs]


def blocks_of(page: str) -> list[Block]:
    found = [(kind.strip(), dedent(text)) for _, kind, text in FENCE.findall((ROOT / page).read_text())]
    return list(_with_output(page, found))


def _with_output(page: str, found: list[tuple[str, str]]) -> Iterator[Block]:
    for (kind, text), (below, output) in pairwise([*found, ("", "")]):
        if kind != "output":
            yield Block(page, kind, text, output if below == "output" else "")


def matches(said: str, expected: str) -> bool:
    """Blanks and line ends do not matter."""
    parts = [re.escape(" ".join(part.split())) for part in expected.split("…")]
    return re.search(r".*?".join(parts), " ".join(said.split())) is not None
