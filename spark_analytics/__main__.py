"""python -m spark_analytics report …"""

import argparse
import sys

from spark_analytics import arguments
from spark_analytics.errors import UnknownChannel
from spark_analytics.progress import bar, clear
from spark_analytics.run import run
from spark_analytics.troubles import INTERRUPTED, TROUBLES, in_a_line


def main(words: list[str]) -> int:
    top = argparse.ArgumentParser(prog="broker")
    commands = top.add_subparsers(title="commands", required=True)
    report = commands.add_parser("report", description="All reports over a range, as a page and as files.")
    arguments.add_to(report)
    options = top.parse_args(words)
    asked = arguments.asked_by(options, report)
    directory = arguments.directory_to_write(options, asked, report)
    try:
        path = run(asked, directory, bar, compares=options.compare)
    except UnknownChannel as error:
        report.error(str(error))
    except TROUBLES as error:
        clear()
        print(f"report: {in_a_line(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        clear()
        return INTERRUPTED
    print(path.resolve())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
