"""axe-core, which looks at a page the way those must who cannot see it, or have no mouse."""

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.acceptance.npm import NPM, node_modules

PACKAGE = "axe-core@4.14.0"


def violations(page: Page, within: str) -> list[str]:
    """What is serious or critical, with where it is."""
    if not NPM:
        pytest.skip("no npm found: install Node.js to run axe-core")
    page.evaluate((node_modules(PACKAGE) / "axe-core" / "axe.min.js").read_text())
    found: dict[str, Any] = page.evaluate("(within) => axe.run(within)", within)
    return [
        f"{one['id']}: {node['html']} {node['failureSummary']}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
