"""python -m spark_analytics.lake: what `./broker lake` runs."""

import argparse
import sys
from datetime import UTC, date, datetime

import psycopg

from spark_analytics.errors import ReportError
from spark_analytics.lake.export import export
from spark_analytics.lake.status import status
from spark_analytics.session import open_session
from spark_analytics.settings import Settings, from_environment
from spark_analytics.verify import Found, verify


def main(words: list[str]) -> int:
    options = _parser().parse_args(words)
    try:
        return int(options.run(options, from_environment()))
    except (ReportError, psycopg.Error) as error:
        print(f"broker: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="broker lake", description="History as Parquet files.")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    bring = commands.add_parser("export", help="bring in what is new and what changed")
    bring.add_argument("--all", action="store_true", help="today's rows too")
    bring.set_defaults(run=_export)
    prove = commands.add_parser("verify", help="prove that the lake is the database")
    prove.add_argument("--from", dest="start", type=date.fromisoformat, default=date.min, metavar="DAY")
    prove.add_argument("--to", dest="end", type=date.fromisoformat, default=date.max, metavar="DAY")
    prove.set_defaults(run=_verify)
    tell = commands.add_parser("status", help="how far it goes, and what waits")
    tell.set_defaults(run=_status)
    return top


def _export(options: argparse.Namespace, settings: Settings) -> int:
    for done in export(open_session(), settings, everything=options.all, now=datetime.now(UTC)):
        print(f"{done.table.name:<11}{done.slices:>5} new, {done.again} again, {done.rows} rows", flush=True)
    return 0


def _verify(options: argparse.Namespace, settings: Settings) -> int:
    tally = dict.fromkeys(Found, 0)
    for one in verify(open_session(), settings, options.start, options.end):
        tally[one.found] += 1
        if not one.ok:
            print(f"{one.table.name} {one.slice.first_id}-{one.slice.last_id}: {one.found}", flush=True)
    print(", ".join(f"{count} {found}" for found, count in tally.items()))
    return int(tally[Found.EQUAL] < sum(tally.values()))


def _status(_options: argparse.Namespace, settings: Settings) -> int:
    with psycopg.connect(settings.database_url, autocommit=True) as connection:
        for one in status(connection):
            days = f"{one.first_day} to {one.last_day}" if one.first_day else "no days"
            print(f"{one.table.name:<11}{one.rows:>12} rows, {one.slices} slices, {days};", end=" ")
            print(f"{one.changed} changed since, {one.tail} ids not in it yet")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
