"""The page: one file that needs no network. Whatever comes from the database is text in it."""

import base64
import hashlib
import json
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from spark_analytics.render.charts import Drawn
from spark_analytics.render.summary import summary
from spark_analytics.render.table import table
from spark_analytics.render.values import Heading, Result, moment, written

HERE = Path(__file__).parent
# Neither may end the script that they stand in.
_UNSAFE = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026", 0x2028: "\\u2028", 0x2029: "\\u2029"}
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
<script type="application/json" id="specs">{specs}</script>
<script>{script}</script>
</body>
</html>
"""


def page(heading: Heading, results: list[Result], drawn: dict[str, Drawn]) -> str:
    sections = [_section(one, heading, drawn.get(one.name)) for one in results]
    body = [_head(heading), summary(results), _contents(results), *sections]
    return _PAGE.format(
        policy=policy(),
        title=f"Message broker: {moment(heading.start)} to {moment(heading.end)}",
        style=(HERE / "page.css").read_text(),
        body="\n".join(body),
        specs=inlined({name: one.spec for name, one in drawn.items()}),
        script=_script(),
    )


def inlined(value: Any) -> str:
    """JSON that can stand in a script: no value in it can end that."""
    return json.dumps(value).translate(_UNSAFE)


def policy() -> str:
    """Only our own script runs, whatever else might have got into the page; and nothing is fetched or sent."""
    digest = base64.b64encode(hashlib.sha256(_script().encode()).digest()).decode()
    return f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"


def vega_lite_version() -> str:
    """The one that altair writes for."""
    return ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])


@cache
def _script() -> str:
    bundle: str = vl_convert.javascript_bundle(vl_version=vega_lite_version())  # type: ignore[call-arg]
    return f"{bundle}\n{{\n{(HERE / 'page.js').read_text()}}}\n"


def _head(heading: Heading) -> str:
    channels = ", ".join(heading.channels) or "all"
    facts = {
        "From": moment(heading.start),
        "To": f"{moment(heading.end)}, not included",
        "Channels": channels,
        "In time means": f"delivered within {written(heading.sla_seconds)} s",
        "Made at": moment(heading.made_at),
    }
    if heading.compares:
        before = f"{moment(heading.start - heading.length)} to {moment(heading.start)}"
        facts["Compared with"] = f"{before}; a change is in percent of the figure then"
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
    notes = "".join(f"<p class=soft>{escape(note)}</p>" for note in _notes(heading))
    return f"<h1>What the broker did</h1>\n<dl>{listed}</dl>{notes}"


def _notes(heading: Heading) -> list[str]:
    return [
        *(["The range was widened to whole hours."] if heading.widened else []),
        *([_stale(heading.stale)] if heading.stale else []),
    ]


def _stale(count: int) -> str:
    if count == 1:
        return "1 part of the lake changed since it was exported; its figures are those of then."
    return f"{count:,} parts of the lake changed since they were exported; their figures are those of then."


def _contents(results: list[Result]) -> str:
    links = "".join(f'<li><a href="#{escape(one.name)}">{escape(one.title)}</a></li>' for one in results)
    return f"<nav aria-label=Contents><ul>{links}</ul></nav>"


def _section(result: Result, heading: Heading, drawn: Drawn | None) -> str:
    name = escape(result.name)
    chart = f'<div class=chart id="chart-{name}" role=img aria-label="{escape(result.title)}"></div>' if drawn else ""
    note = f"<p class=soft>{escape(drawn.note)}</p>" if drawn and drawn.note else ""
    head = f"<h2>{escape(result.title)}</h2><p class=soft>{escape(result.about)}</p>"
    return f'<section id="{name}">{head}{chart}{note}{table(result, heading)}</section>'
