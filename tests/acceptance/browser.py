"""A real browser, whichever Chromium this machine has."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find_chromium(playwright: Playwright) -> str | None:
    named = (os.environ.get("CHROME", ""), "chromium", "chromium-browser", "google-chrome")
    found = (shutil.which(name) for name in named if name)
    own = playwright.chromium.executable_path
    return next(filter(None, found), own if Path(own).exists() else None)


@pytest.fixture
def chromium(live_server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Browser]:
    """One browser a test, inside the life of its database.

    Playwright keeps an event loop in this thread, and Django refuses to query beside one: it is told not to mind
    here, and the loop is gone before the database is cleared or another test begins.
    """
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    with launched() as browser:
        yield browser
        browser.close()
        # Beside a loop Django has connections of their own, which nobody else would close.
        connections.close_all()


@contextmanager
def launched() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        path = find_chromium(playwright)
        if path is None:
            pytest.skip("no Chromium found")
        with playwright.chromium.launch(executable_path=path, args=FLAGS) as browser:
            yield browser


@pytest.fixture
def browser_page(chromium: Browser) -> Iterator[Page]:
    with faultless_page(chromium) as page:
        yield page


@contextmanager
def faultless_page(browser: Browser) -> Iterator[Page]:
    """A page that finds fault: with errors on the console, and with requests that leave this machine."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(30_000)
    page = context.new_page()
    faults = watch(context, page)
    yield page
    context.close()
    assert faults == []


def watch(context: BrowserContext, page: Page) -> list[str]:
    faults: list[str] = []
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    context.on("request", lambda request: None if is_local(request.url) else faults.append(request.url))
    return faults


def is_local(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "http://localhost:", "data:", "blob:"))


_OVERFLOWING = """
(parts) => parts.filter(
    (part) => part.getBoundingClientRect().right > document.documentElement.clientWidth
        || part.getBoundingClientRect().left < 0 || part.scrollWidth > part.clientWidth + 1
).length
"""


def is_within(page: Page, parts: str) -> bool:
    """Whether nothing sticks out of the page sideways, nor out of any of these parts."""
    sideways = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return not sideways and not page.locator(parts).evaluate_all(_OVERFLOWING)
