"""A report as who opens it finds it: the page, and the rows of a file."""

import csv
from html.parser import HTMLParser
from pathlib import Path


class Read(HTMLParser):
    """What a browser would make of the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.shown = ""
        self.specs = ""
        self._in = [""]
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._in.append("specs" if ("id", "specs") in attrs else tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        if self._in[-1] == "specs":
            self.specs += data
        elif self._in[-1] not in ("script", "style"):
            self.shown += data


def read(directory: Path) -> Read:
    return Read((directory / "report.html").read_text())


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
