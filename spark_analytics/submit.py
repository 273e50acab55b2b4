"""What spark-submit runs: `submit.py report …` and `submit.py lake …`, with the words of ./broker."""

import sys

from spark_analytics import __main__ as reports
from spark_analytics.lake import __main__ as lake


def main(words: list[str]) -> int:
    return lake.main(words[1:]) if words[:1] == ["lake"] else reports.main(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
