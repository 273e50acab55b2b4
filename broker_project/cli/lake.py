"""lake: history as Parquet files, by Spark."""

import argparse
import sys

from broker_project.cli import arguments, at_hand, foreground

DESCRIPTION = """export [--all] brings finished days into the lake, and what changed since; --all brings today too.
verify [--from DAY] [--to DAY] proves that the lake is the database. status says how far it goes.
pack FILE.tar.gz makes an archive of all libraries, for the machines of a Spark cluster."""


def add_to(commands: arguments.Commands) -> None:
    arguments.add_passing_on(
        commands, "lake", help="bring history into Parquet files, and check it", description=DESCRIPTION, run=_lake
    )


def _lake(options: argparse.Namespace) -> int:
    """Its database is started for it if need be."""
    if arguments.asks_for_help(options):
        return 0
    with at_hand.services("lake") as plan:
        words = ["-m", "spark_analytics.lake", *options.arguments]
        code = foreground.run_in_own_session([sys.executable, *words], plan.environment())
    at_hand.tell_what_was_left_out()
    return code
