"""When a request is sent again, by a table of cases."""

import pytest

from broker_client import Retries
from broker_client.flow import Answer, Request, read_retry_after

GET, POLL = Request("GET", "/"), Request("GET", "/", repeatable=False)


@pytest.mark.parametrize(
    ("turn", "retry_after", "seconds"),
    [(0, None, 0.05), (1, None, 0.1), (4, None, 0.8), (20, None, 2.5), (1000, None, 2.5), (0, 7.0, 7.05)],
)
def test_waits_double_by_chance_up_to_a_ceiling_on_top_of_what_is_asked_for(
    turn: int, retry_after: float | None, seconds: float
) -> None:
    assert Retries(chance=lambda: 0.5).wait_seconds(turn, retry_after) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("request_", "answer", "is_sent_again"),
    [
        (GET, Answer(200), False),
        (GET, Answer(400), False),
        (GET, Answer(500), False),
        (GET, Answer(503), True),
        (GET, Answer(429, {"retry-after": "30"}), True),
        (GET, Answer(429, {"retry-after": "31"}), False),
        (GET, Answer(0, failure="ReadError"), True),
        (POLL, Answer(0, failure="ReadError"), False),
        (POLL, Answer(0, failure="ConnectError"), True),
        (POLL, Answer(503), True),
    ],
)
def test_what_may_help_is_sent_again(request_: Request, answer: Answer, is_sent_again: bool) -> None:
    assert Retries().may_help(request_, answer) is is_sent_again


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5", 5.0),
        ("", None),
        ("soon", None),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 90.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: str, seconds: float | None) -> None:
    assert read_retry_after(text, now=10.0) == seconds
