"""The guide as it is built: its pages, and what they ask for and point at."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Of these a browser fetches what they name; the rest are links that a reader follows.
FETCHING = {"link", "script", "img", "source", "iframe", "video", "audio", "object", "embed"}


@dataclass
class Parsed(HTMLParser):
    fetched: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        self.ids.add(named.get("id", ""))
        targets = [named[name] for name in ("src", "href", "data") if name in named]
        (self.fetched if tag in FETCHING else self.links).extend(targets)


def parsed(path: Path) -> Parsed:
    page = Parsed()
    page.feed(path.read_text())
    return page


def is_external(url: str) -> bool:
    return bool(urlsplit(url).netloc)


def broken(site: Path) -> list[str]:
    """Links inside the site that lead to no file, or to no place in it."""
    pages = {path: parsed(path) for path in site.rglob("*.html")}
    return [
        f"{path.relative_to(site)}: {link}"
        for path, page in pages.items()
        # Served for whatever is missing, so its links begin at the top.
        if path.name != "404.html"
        for link in page.links + page.fetched
        if not is_external(link) and not _leads_somewhere(path, link, pages)
    ]


def _leads_somewhere(path: Path, link: str, pages: dict[Path, Parsed]) -> bool:
    if link.startswith(("data:", "mailto:", "javascript:")):
        return True
    parts = urlsplit(link)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    target = target / "index.html" if target.is_dir() else target
    if not parts.fragment or target not in pages:
        return target.is_file()
    return unquote(parts.fragment) in pages[target].ids
