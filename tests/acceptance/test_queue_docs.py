"""docs/queue.md is true: its calls, in their order, are answered as it says."""

import json
import re
import shlex
from typing import Any

import httpx
import pytest

from tests.acceptance.servers import ROOT, Broker

PAGE = (ROOT / "docs" / "queue.md").read_text()
EXAMPLES = re.findall(r"^```sh\n(.*?)^```\n```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def web(broker: Broker) -> httpx.Client:
    return broker.serve()


def test_each_call_of_the_page_is_answered_as_it_says(web: httpx.Client) -> None:
    assert len(EXAMPLES) == 7
    for curl, answer in EXAMPLES:
        assert called(web, curl) == json.loads(answer), curl


def called(web: httpx.Client, curl: str) -> Any:
    words = shlex.split(curl.replace("\\\n", " "))
    assert words[0] == "curl"
    assert "Authorization: Bearer $API_KEY" in words
    path = words[1].removeprefix("$BROKER")
    headers = {"Content-Type": "application/json"}
    return web.post(path, content=words[words.index("-d") + 1], headers=headers).json()
