"""The demo against a broker that runs: `./broker demo` finds that broker, makes a key for it and hands over here."""

import argparse
import asyncio
import logging
import os
import sys
import time

from broker_client import BrokerError
from broker_project.demo import show
from broker_project.demo.screen import Places, Screen

KEY = "DEMO_API_KEY"
# Not passing: this broker does not post to loopback.
EGRESS = (
    "This broker does not deliver to 127.0.0.1. Start it with EGRESS_ALLOW=127.0.0.0/8, or use another for the demo."
)


def main() -> int:
    options = _parser().parse_args()
    places, screen = Places(options.url, options.flower, options.data_dir), Screen()
    # Failures are what the demo is about; its client would tell of each on standard error.
    logging.getLogger("broker_client").addHandler(logging.NullHandler())
    logging.getLogger("broker_client").propagate = False
    try:
        return asyncio.run(_play(options, places, screen))
    except BrokerError as error:
        screen.say(f"The demo cannot go on: {EGRESS if error.code == 'egress_denied' else error}")
        return 1
    except KeyboardInterrupt:
        return 130


async def _play(options: argparse.Namespace, places: Places, screen: Screen) -> int:
    key = os.environ[KEY]
    if options.remove:
        return await show.remove(places, key, screen)
    seconds = None if options.minutes is None else options.minutes * 60
    wishes = show.Wishes(options.rate, options.seed, seconds, run=f"{int(time.time()):x}")
    return await show.run(places, key, wishes, screen)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--url", "--flower", "--data-dir"):
        parser.add_argument(name, required=True)
    parser.add_argument("--rate", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--remove", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
