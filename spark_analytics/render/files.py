"""Everything of a run in one directory: the page, JSON, a CSV a report, a PNG a picture."""

import csv
import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from spark_analytics.errors import NotDrawn
from spark_analytics.render.charts import Drawn
from spark_analytics.render.colours import Colours
from spark_analytics.render.comparison import compared
from spark_analytics.render.page import page, vega_lite_version
from spark_analytics.render.pictures import PICTURES, draw
from spark_analytics.render.values import Heading, Result, exact

PAGE, FIGURES = "report.html", "report.json"
PICTURE_WIDTH = 900
TOP = Path(__file__).resolve().parents[2]
PAINTER = [sys.executable, "-m", "spark_analytics.render.painter"]
# A spreadsheet takes text that begins so for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


class Writer:
    """Pictures are drawn by another process as soon as their rows are there, while Spark works on the next report."""

    def __init__(self, directory: Path, heading: Heading) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        # Of a run before this one: the others are written anew in any case.
        for name in (PAGE, *(f"{report}.png" for report in PICTURES)):
            (directory / name).unlink(missing_ok=True)
        self._directory, self._heading = directory, heading
        self._colours = Colours()
        self._drawn: dict[str, Drawn] = {}

    def __enter__(self) -> Self:
        self._specs = TemporaryDirectory(prefix="broker-pictures-")
        words = [*PAINTER, vega_lite_version()]
        self._painter = subprocess.Popen(words, cwd=TOP, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_error: object) -> None:
        self._painter.kill()
        self._painter.communicate()
        self._specs.cleanup()

    def paint(self, result: Result) -> None:
        picture = draw(result, self._heading, self._colours)
        if picture is None:
            return
        self._drawn[result.name] = picture
        spec, png = Path(self._specs.name) / result.name, self._directory.resolve() / f"{result.name}.png"
        spec.write_text(json.dumps({**picture.spec, "width": PICTURE_WIDTH, "background": "white"}))
        told = {"spec": str(spec), "png": str(png)}
        # A few words only: a pipe that is full would make Spark wait. One that is broken is spoken of at the end.
        with suppress(BrokenPipeError):
            print(json.dumps(told), file=self._painter.stdin, flush=True)

    def finish(self, results: list[Result]) -> Path:
        """The page's path. It is written last: where it is, all is."""
        told = figures(self._heading, results)
        (self._directory / FIGURES).write_text(json.dumps(told, default=exact))
        for result in results:
            _write_csv(self._directory / f"{result.name}.csv", result, self._heading)
        text = page(self._heading, results, self._drawn)
        _, said = self._painter.communicate()
        if self._painter.returncode:
            raise NotDrawn(f"The pictures could not be drawn: {said.strip()[-500:]}")
        path = self._directory / PAGE
        path.write_text(text)
        return path


def write(directory: Path, heading: Heading, results: list[Result]) -> Path:
    with Writer(directory, heading) as writer:
        for result in results:
            writer.paint(result)
        return writer.finish(results)


def figures(heading: Heading, results: list[Result]) -> dict[str, Any]:
    """Rows as they are: to copy thousands of them would take longer than to write them."""
    asked = {name: exact(value) for name, value in vars(heading).items()}
    return {"asked": asked, "reports": {result.name: vars(result) for result in results}}


def _write_csv(path: Path, result: Result, heading: Heading) -> None:
    columns, rows = compared(result, heading)
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(columns)
        out.writerows([_cell(row.get(name)) for name in columns] for row in rows)


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(FORMULA):
        return f"'{value}"
    return exact(value)
