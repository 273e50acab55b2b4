"""The client as a package of its own."""

import tomllib

from packaging.requirements import Requirement

from tests.acceptance.servers import ROOT

HOME = ROOT / "broker_client"
PROJECT = tomllib.loads((HOME / "pyproject.toml").read_text())


def test_what_it_needs_admits_what_it_is_tested_with() -> None:
    lines = (ROOT / "requirements" / "constraints.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line)
    for text in PROJECT["project"]["dependencies"]:
        needed = Requirement(text)
        assert needed.specifier.contains(pinned[needed.name])


def test_the_package_is_this_folder_and_has_types() -> None:
    assert PROJECT["tool"]["setuptools"]["package-dir"] == {"broker_client": "."}
    assert (HOME / "py.typed").exists()
    assert (HOME / PROJECT["project"]["readme"]).exists()
    # A folder inside would be left out.
    assert not [path.parent for path in HOME.glob("*/__init__.py")]
