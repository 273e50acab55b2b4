"""What is asked first, at the top of the page: figures of the reports below it, added up."""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from spark_analytics.render.comparison import remark
from spark_analytics.render.values import Result, Row, percent, written

Measure = Callable[[list[Row]], float | None]
FAILING = "failing_consumers"


@dataclass(frozen=True)
class Figure:
    """`report` is where more is said about it; `about` says whose it is."""

    name: str
    report: str
    now: float | None
    before: float | None = None
    write: Callable[[float | None], str] = written
    about: str = ""


def summary(results: list[Result]) -> str:
    tiles = "".join(_tile(one) for one in figures(results))
    return f"<ul class=figures aria-label=Summary>{tiles}</ul>" if tiles else ""


def figures(results: list[Result]) -> list[Figure]:
    found = {one.name: one for one in results}
    told = [_told(*question, found[question[1]]) for question in QUESTIONS if question[1] in found]
    return [*told, *([_worst(found[FAILING])] if FAILING in found else [])]


def total(column: str) -> Measure:
    return lambda rows: sum(row.get(column) or 0 for row in rows)


def share(part: str, *whole: str) -> Measure:
    def of(rows: list[Row]) -> float | None:
        count = sum(total(column)(rows) or 0 for column in whole)
        return (total(part)(rows) or 0) / count if count else None

    return of


QUESTIONS: tuple[tuple[str, str, Measure, Callable[[float | None], str]], ...] = (
    ("messages received", "throughput", total("messages"), written),
    ("jobs delivered", "delivery", total("delivered"), written),
    ("of the finished jobs delivered", "delivery", share("delivered", "delivered", "dead"), percent),
    ("of the finished jobs in time", "sla", share("in_time", "finished"), percent),
    ("jobs dead now", "delivery", total("dead"), written),
    ("dead letters that came in", "dead_letters", total("entered"), written),
)


def _told(name: str, report: str, measure: Measure, write: Callable[[float | None], str], result: Result) -> Figure:
    before = None if result.before is None else measure(result.before)
    return Figure(name, report, measure(result.rows), before, write)


def _worst(result: Result) -> Figure:
    """Beside it the same consumer before, not whoever was the worst then."""
    name = "most failed attempts of a consumer"
    if not result.rows:
        return Figure(name, FAILING, 0)
    worst = max(result.rows, key=lambda row: row["failed"])
    whose = [worst[key] for key in result.keys]
    then = [row["failed"] for row in result.before or [] if [row[key] for key in result.keys] == whose]
    return Figure(name, FAILING, worst["failed"], next(iter(then), None), about=" / ".join(map(str, whose)))


def _tile(figure: Figure) -> str:
    notes = (figure.about, remark(figure.now, figure.before, figure.write))
    soft = "".join(f"<span class=then>{escape(note)}</span>" for note in notes if note)
    named = f'<a href="#{escape(figure.report)}">{escape(figure.name)}</a>'
    return f"<li><strong>{escape(figure.write(figure.now))}</strong>{named}{soft}</li>"
