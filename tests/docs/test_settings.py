"""What pages say to write into .env can be copied as it stands."""

import re

import pytest

from broker_project.guide.knobs import read_knobs
from tests.docs.blocks import blocks_of, pages

KNOBS = read_knobs()
# A secret may also be given as a file that holds it.
NAMES = KNOBS.keys() | {f"{name}_FILE" for name, knob in KNOBS.items() if knob.secret}
ONE = re.compile(r"([A-Z_]+)=\S*")
LINES = [
    (page, line) for page in pages() for block in blocks_of(page) if block.language == "ini" for line in block.commands
]


def test_there_are_pages_with_settings() -> None:
    assert "docs/alerts.md" in {page for page, _ in LINES}


@pytest.mark.parametrize(("page", "line"), LINES)
def test_a_line_for_env_sets_one_knob_that_there_is(page: str, line: str) -> None:
    found = ONE.fullmatch(line)
    assert found, f"{page}: one setting a line, not {line}"
    assert found[1] in NAMES, f"{page}: there is no setting {found[1]}"
