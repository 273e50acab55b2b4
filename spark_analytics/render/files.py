"""Everything of a run in one directory: the page, JSON, a CSV a report, a PNG a picture."""

import csv
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from spark_analytics.render.charts import Drawn
from spark_analytics.render.comparison import compared
from spark_analytics.render.page import page
from spark_analytics.render.pictures import draw
from spark_analytics.render.values import Heading, Result, exact

PAGE, FIGURES = "report.html", "report.json"
PICTURE_WIDTH = 900
# A spreadsheet takes text that begins so for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write(directory: Path, heading: Heading, results: list[Result]) -> Path:
    """The page's path. It is written last: where it is, all is."""
    directory.mkdir(parents=True, exist_ok=True)
    drawn = {result.name: picture for result in results if (picture := draw(result, heading))}
    (directory / FIGURES).write_text(json.dumps(figures(heading, results), indent=1, default=exact))
    for result in results:
        _write_csv(directory / f"{result.name}.csv", result, heading)
    for name, picture in drawn.items():
        (directory / f"{name}.png").write_bytes(_png(picture))
    path = directory / PAGE
    path.write_text(page(heading, results, drawn))
    return path


def figures(heading: Heading, results: list[Result]) -> dict[str, Any]:
    asked = {name: exact(value) for name, value in asdict(heading).items()}
    return {"asked": asked, "reports": {result.name: asdict(result) for result in results}}


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


def _png(picture: Drawn) -> bytes:
    version = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    spec = {**picture.spec, "width": PICTURE_WIDTH, "background": "white"}
    png: bytes = vl_convert.vegalite_to_png(spec, vl_version=version, scale=2)
    return png
