"""What can be asked for on a command line. Imports no Spark: what is wrong is said before that starts."""

import argparse
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from spark_analytics.asked import EARLIEST, SLA_SECONDS, Asked
from spark_analytics.errors import ReportError

WEEK = timedelta(days=7)


def add_to(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="start",
        type=_moment,
        metavar="TIME",
        help="2026-11-01, or 2026-11-01T06:00Z (a week before --to)",
    )
    parser.add_argument("--to", dest="end", type=_moment, metavar="TIME", help="not included (now)")
    parser.add_argument(
        "--channel", dest="channels", action="append", default=[], metavar="ID", help="only this one; may be repeated"
    )
    parser.add_argument("--compare", action="store_true", help="beside the period before, of the same length")
    parser.add_argument(
        "--sla",
        type=float,
        default=SLA_SECONDS,
        metavar="SECONDS",
        help="what counts as delivered in time (%(default)g)",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (broker-report-… here)")


def asked_by(options: argparse.Namespace, parser: argparse.ArgumentParser) -> Asked:
    """Ends the program with exit code 2 and a word where that makes no sense."""
    end: datetime = options.end or datetime.now(UTC)
    # No range ends before the earliest; a week before the year 1 there is no time at all.
    start: datetime = options.start or max(end, EARLIEST) - WEEK
    channels = tuple(dict.fromkeys(options.channels))
    try:
        return Asked.between(start, end, channels=channels, sla_seconds=options.sla)
    except ReportError as error:
        parser.error(str(error))


def words_of(options: argparse.Namespace, asked: Asked) -> list[str]:
    """The same again, for another process."""
    words = ["--from", (options.start or asked.start).isoformat(), "--to", (options.end or asked.end).isoformat()]
    words += [f"--channel={name}" for name in asked.channels]
    words += ["--sla", str(asked.sla_seconds), "--out", str(directory_of(options, asked))]
    return [*words, "--compare"] if options.compare else words


def directory_of(options: argparse.Namespace, asked: Asked) -> Path:
    named: Path | None = options.out
    return named or Path(f"broker-report-{asked.start:%Y%m%dT%H}-{asked.end:%Y%m%dT%H}")


def directory_to_write(options: argparse.Namespace, asked: Asked, parser: argparse.ArgumentParser) -> Path:
    """Ends the program with exit code 2 and a word where nothing can be written. It is made when there is a report."""
    directory = directory_of(options, asked)
    try:
        there = next(path for path in (directory, *directory.absolute().parents) if path.exists())
        TemporaryFile(dir=there).close()
    except OSError as error:
        parser.error(f"cannot write to {directory}: {error.strerror}")
    return directory


def asked_in(wish: dict[str, Any]) -> Asked:
    """Of a row: from, to, channels, slaSeconds."""
    start, end = (datetime.fromisoformat(wish[name]) for name in ("from", "to"))
    return Asked.between(start, end, channels=tuple(wish["channels"]), sla_seconds=wish["slaSeconds"])


def _moment(text: str) -> datetime:
    """Without a zone it is UTC."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write 2026-11-01 or 2026-11-01T06:00Z") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
