"""report: all figures of a range as one page. Spark runs in a process of its own."""

import argparse
import sys
import webbrowser
from functools import partial

from broker_project.cli import arguments as shared
from broker_project.cli import at_hand, foreground
from broker_project.cli.surroundings import TOP
from spark_analytics import arguments

DESCRIPTION = """Write a page with everything the broker did in a range, and the same figures as JSON, CSV and PNG.
The broker may be running; if it is not, its database is started for this. The first report installs Spark."""


def add_to(commands: shared.Commands) -> None:
    parser = commands.add_parser("report", help="make a report of what the broker did", description=DESCRIPTION)
    arguments.add_to(parser)
    parser.add_argument("--open", action="store_true", help="show the page in a browser")
    parser.set_defaults(run=partial(_report, parser))


def _report(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    # What is wrong is said before anything starts.
    asked = arguments.asked_by(options, parser)
    directory = arguments.directory_to_write(options, asked, parser)
    words = ["-m", "spark_analytics", "report", *arguments.words_of(options, asked)]
    with at_hand.services("report") as plan:
        environment = {**plan.environment(), "PYTHONPATH": str(TOP)}
        code = foreground.run_in_own_session([sys.executable, *words], environment)
    at_hand.tell_what_was_left_out()
    page = directory.resolve() / "report.html"
    if code == 0 and options.open and not webbrowser.open(page.as_uri()):
        print("There is no browser here to show it in.", file=sys.stderr)
    return code
