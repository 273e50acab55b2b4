"""How the answer of a consumer that speaks Dapr is read, by a table of cases."""

import pytest

from channels_app.delivery.answers import ANSWER_BYTES, understood
from channels_app.delivery.retry import Outcome, Policy, Verdict, decide
from channels_app.reasons import Reason

POLICY = Policy(3, 1.0, 2.0, 30.0, "none", frozenset())
DELIVERED, AGAIN = Verdict(delivered=True), Verdict(wait_seconds=1.0, failures=1)
DROPPED = Verdict(dead=True, failures=1)
LONG = b"x" * ANSWER_BYTES


@pytest.mark.parametrize(
    ("status", "body", "verdict", "reason"),
    [
        (200, b"", DELIVERED, None),
        (204, b"", DELIVERED, None),
        (200, b'{"status": "SUCCESS"}', DELIVERED, None),
        (200, b'{"status": ""}', DELIVERED, None),
        (200, b'{"other": 1}', DELIVERED, None),
        (200, b"heard", DELIVERED, None),
        (200, b"[]", DELIVERED, None),
        (200, b'{"status": 7}', DELIVERED, None),
        (200, b"\xff", DELIVERED, None),
        (200, b"[" * 60_000, DELIVERED, None),
        (200, b'{"status": "RETRY"}', AGAIN, Reason.NACKED),
        (201, b'{"status": "WHAT"}', AGAIN, Reason.NACKED),
        (200, b'{"status": "DROP"}', DROPPED, Reason.NACKED),
        # Cut off, as it is read no further.
        (200, b'{"status": "RETRY", "trace": "' + LONG, AGAIN, Reason.NACKED),
        (200, b'\xef\xbb\xbf {"of": {"status": "DROP"}, "status" : "RETRY", "trace": [' + LONG, AGAIN, Reason.NACKED),
        (200, b'{"status": "DROP", "\\"": "\\u20ac", "trace": "' + LONG + b"\xe2\x82", DROPPED, Reason.NACKED),
        (200, b'{"status": "SUCCESS", "trace": "' + LONG, DELIVERED, None),
        (200, b'{"of": {"status": "RETRY", "trace": "' + LONG, DELIVERED, None),
        (200, b'[{"status": "RETRY", "trace": "' + LONG, DELIVERED, None),
        (200, b'{"trace": "' + LONG + b'", "status": "RETRY"}', AGAIN, Reason.NACKED),
        # Not cut off, and no JSON.
        (200, b'{"status": "RETRY", ', DELIVERED, None),
        (404, b"", DROPPED, Reason.HTTP_4XX),
        (400, b'{"status": "SUCCESS"}', AGAIN, Reason.HTTP_4XX),
        (503, b'{"status": "DROP"}', AGAIN, Reason.HTTP_5XX),
    ],
)
def test_an_answer_is_read_by_daprs_rules(status: int, body: bytes, verdict: Verdict, reason: Reason | None) -> None:
    by_status = {404: Reason.HTTP_4XX, 400: Reason.HTTP_4XX, 503: Reason.HTTP_5XX}.get(status)
    outcome = understood(Outcome(by_status, status), body)
    assert decide(outcome, failures=0, policy=POLICY) == verdict
    assert outcome.reason is reason


def test_who_drops_is_not_in_trouble() -> None:
    assert understood(Outcome(None, 200), b'{"status": "DROP"}').speaks_for_consumer
    assert not understood(Outcome(None, 200), b'{"status": "RETRY"}').speaks_for_consumer
