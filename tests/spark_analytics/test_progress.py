"""The bar that a terminal shows."""

from io import StringIO

from spark_analytics.progress import Progress, bar, clear


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_moves_on_one_line_and_ends_it() -> None:
    out = Terminal()
    for progress in (Progress("starting Spark", 0.0), Progress("latency", 0.5), Progress("done", 1.0)):
        bar(progress, out)
    first, second, last = out.getvalue().split("\r\033[K")[1:]
    assert first == f"[{'.' * 30}]   0 % starting Spark"
    assert second == f"[{'#' * 15}{'.' * 15}]  50 % latency"
    assert last == f"[{'#' * 30}] 100 % done\n"


def test_the_bar_leaves_its_line_to_an_error() -> None:
    out = Terminal()
    bar(Progress("latency", 0.5), out)
    clear(out)
    assert out.getvalue().endswith(" latency\r\033[K")


def test_where_nobody_watches_nothing_is_written() -> None:
    out = StringIO()
    bar(Progress("latency", 0.5), out)
    clear(out)
    assert out.getvalue() == ""
