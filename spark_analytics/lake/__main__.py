"""python -m spark_analytics.lake: what `./broker lake` runs."""

import argparse
import sys
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path

import psycopg

from spark_analytics.lake.export import alone, export
from spark_analytics.lake.status import status
from spark_analytics.pack import pack
from spark_analytics.session import open_session
from spark_analytics.settings import Settings, from_environment
from spark_analytics.troubles import INTERRUPTED, TROUBLES, in_a_line
from spark_analytics.verify import Found, verify


def main(words: list[str]) -> int:
    options = _parser().parse_args(words)
    try:
        return int(options.run(options, from_environment()))
    except TROUBLES as error:
        print(f"broker: {in_a_line(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="broker lake", description="History as Parquet files.")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    bring = commands.add_parser("export", help="bring in what is new and what changed")
    bring.add_argument("--all", action="store_true", help="today's rows too")
    bring.set_defaults(run=_export)
    prove = commands.add_parser("verify", help="prove that the lake is the database")
    prove.add_argument(
        "--from", dest="start", type=_day, default=date.min, metavar="DAY", help="2026-11-01; default: all"
    )
    prove.add_argument("--to", dest="end", type=_day, metavar="DAY", help="default: all; today's rows may wait")
    prove.set_defaults(run=partial(_verify, prove))
    tell = commands.add_parser("status", help="how far it goes, and what waits")
    tell.set_defaults(run=_status)
    carry = commands.add_parser("pack", help="an archive of all libraries, for the machines of a Spark cluster")
    carry.add_argument("path", type=Path, metavar="FILE.tar.gz")
    carry.set_defaults(run=_pack)
    return top


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no day: write 2026-11-01") from None


def _export(options: argparse.Namespace, settings: Settings) -> int:
    # Asked before Spark starts, which takes a while.
    with alone(settings.database_url):
        pass
    for done in export(open_session(), settings, everything=options.all, now=datetime.now(UTC)):
        print(f"{done.table.name:<11}{done.slices:>5} new, {done.again} again, {done.rows} rows", flush=True)
    return 0


def _verify(parser: argparse.ArgumentParser, options: argparse.Namespace, settings: Settings) -> int:
    """Rows of today that wait for their export fail it only if today was asked for."""
    if options.end and options.start > options.end:
        parser.error("--from is after --to")
    right = {Found.EQUAL} if options.end else {Found.EQUAL, Found.WAITING}
    tally = dict.fromkeys(Found, 0)
    for one in verify(open_session(), settings, options.start, options.end or date.max, now=datetime.now(UTC)):
        outside = one.found in (Found.MISSING, Found.WAITING)
        tally[one.found] += one.rows if outside else 1
        if one.found is not Found.EQUAL:
            told = f"{one.rows} {one.found}" if outside else one.found
            print(f"{one.table.name} {one.ids.first}-{one.ids.last}: {told}", flush=True)
    wrong = [found for found, count in tally.items() if count and found not in right]
    print(", ".join(f"{count} {found}" for found, count in tally.items()))
    print(_verdict(wrong, any(tally.values())))
    return int(bool(wrong))


def _verdict(wrong: list[Found], any_rows: bool) -> str:
    if wrong:
        return f"Not proven: {', '.join(wrong)}."
    return (
        "Proven."
        if any_rows
        else "There is nothing to prove: neither the lake nor the database has rows of these days."
    )


def _status(_options: argparse.Namespace, settings: Settings) -> int:
    with psycopg.connect(settings.database_url, autocommit=True) as connection:
        for one in status(connection):
            days = f"{one.first_day} to {one.last_day}" if one.first_day else "no days"
            print(f"{one.table.name:<11}{one.rows:>12} rows, {one.slices} slices, {days};", end=" ")
            print(f"{one.changed} changed since, {one.tail} ids not in it yet")
    return 0


def _pack(options: argparse.Namespace, _settings: Settings) -> int:
    print(pack(options.path))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
