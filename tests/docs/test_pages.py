"""A page is finished when it is committed."""

import re

import pytest

from tests.acceptance.servers import ROOT
from tests.docs.blocks import pages

# Where a figure was to be put in.
PLACEHOLDER = re.compile(r"@[A-Z_]+@")


@pytest.mark.parametrize("page", pages())
def test_no_figure_is_left_to_be_filled_in(page: str) -> None:
    assert PLACEHOLDER.findall((ROOT / page).read_text()) == []


def test_every_blow_is_told_of_with_what_came_of_it() -> None:
    told = (ROOT / "docs" / "chaos.md").read_text()
    blows, results = told.split("## Results")
    for path in (ROOT / "tests" / "chaos").glob("test_*.py"):
        assert f"| `{path.name}` |" in blows
        assert f"| `{path.name}` |" in results


def test_every_picture_stands_in_a_page() -> None:
    told = "".join((ROOT / page).read_text() for page in pages())
    pictures = ROOT / "docs" / "pictures"
    unused = [path.name for path in pictures.rglob("*.*") if str(path.relative_to(pictures.parent)) not in told]
    assert unused == []
