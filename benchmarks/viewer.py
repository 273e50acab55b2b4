"""Somebody with the dashboard open: asks for the page, then for what is new, as often as the page does. Without end."""

import http.client
import json
import sys
import time
from typing import Any

EVERY_SECONDS = 2.0


def main(told: dict[str, Any]) -> None:
    connection = http.client.HTTPConnection(told["host"], told["port"], timeout=60)
    _ask(connection, "/admin/watch/", told["cookie"])
    while True:
        time.sleep(EVERY_SECONDS)
        _ask(connection, f"/admin/watch/data?range=1h&after={int(time.time()) - 60}", told["cookie"])


def _ask(connection: http.client.HTTPConnection, path: str, cookie: str) -> None:
    connection.request("GET", path, headers={"Cookie": cookie})
    answer = connection.getresponse()
    answer.read()
    assert answer.status == 200, answer.status


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
