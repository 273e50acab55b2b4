"""The guide is built strictly, asks the network for nothing, leads where it says, and opens in a browser."""

import http.server
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.acceptance.browser import is_within, launched, watch
from tests.acceptance.servers import ROOT
from tests.docs.site import broken, is_external, parsed

DESK, PHONE = 1280, 390
# Milliseconds, generous: nothing here is about speed.
PATIENCE = 60_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """By the command, as a user builds it."""
    directory: Path = tmp_path_factory.mktemp("guide") / "site"
    command = [str(ROOT / "broker"), "docs", "--out", str(directory)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    return directory


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    handler = partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads it."""


@pytest.fixture(
    scope="module", params=[("light", DESK), ("dark", DESK), ("light", PHONE)], ids=["light", "dark", "phone"]
)
def page(request: pytest.FixtureRequest) -> Iterator[Page]:
    """One browser for each. Errors on the console and requests that leave this machine are faults."""
    scheme, width = request.param
    with launched() as browser:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        context.set_default_timeout(PATIENCE)
        opened = context.new_page()
        faults = watch(context, opened)
        yield opened
        context.close()
        assert faults == []


def test_the_site_has_a_page_for_each_document(site: Path) -> None:
    documents = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert documents <= {path.relative_to(site) for path in site.rglob("*.html")}


def test_nothing_that_a_page_fetches_is_elsewhere(site: Path) -> None:
    fetched = {url for path in site.rglob("*.html") for url in parsed(path).fetched}
    sheets = "".join(path.read_text() for path in site.rglob("*.css"))
    assert fetched
    assert {url for url in fetched if is_external(url)} == set()
    assert re.findall(r"""(?:url\(|@import )["']?(?:https?:)?//[^)"']*""", sheets) == []


def test_every_link_inside_leads_somewhere(site: Path) -> None:
    assert broken(site) == []


@pytest.mark.parametrize("name", ["tutorial", "concepts", "reference/http", "comparison"])
def test_a_page_opens_without_a_fault(page: Page, address: str, name: str) -> None:
    page.goto(f"{address}/{name}.html")
    expect(page.locator("article h1")).to_be_visible()
    assert is_within(page, "article h1, article p")
    loaded = page.locator("article img").evaluate_all("images => images.every(i => i.complete && i.naturalWidth > 0)")
    assert loaded


def test_search_finds_a_page_without_a_network(page: Page, address: str) -> None:
    page.goto(f"{address}/index.html?q=redrive")
    found = page.locator('.md-search-result__link[href*="dead-letters"]').first
    expect(found).to_be_attached(timeout=PATIENCE)


def test_the_theme_follows_the_reader(page: Page, address: str, request: pytest.FixtureRequest) -> None:
    page.goto(f"{address}/index.html")
    wanted = "slate" if "dark" in request.node.name else "default"
    expect(page.locator("body")).to_have_attribute("data-md-color-scheme", wanted)
