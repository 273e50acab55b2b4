"""The answer of a consumer that speaks Dapr: its body says SUCCESS, RETRY or DROP, and a 404 is a DROP. Pure."""

import json
import re
from contextlib import suppress
from dataclasses import replace
from typing import Any

from channels_app.delivery.retry import Outcome
from channels_app.reasons import Reason

# So much of an answer is read; what is longer comes here cut off.
ANSWER_BYTES = 64 * 1024
_NAME = re.compile(r'(?:\A\s*\{|(?!\A)\s*,)\s*("(?:[^"\\]|\\.)*")\s*:\s*')
_decoder = json.JSONDecoder()


def understood(outcome: Outcome, body: bytes) -> Outcome:
    """What a try came to, by Dapr's rules; for all that they do not name, as it is."""
    if outcome.status_code == 404:
        return replace(outcome, dropped=True, error="404: the consumer has no route for it.")
    if not outcome.ok:
        return outcome
    word = _status(body)
    if word in ("", "SUCCESS"):
        return outcome
    if word == "DROP":
        return replace(outcome, reason=Reason.NACKED, dropped=True, error="The consumer answered DROP.")
    said = "RETRY" if word == "RETRY" else "a status that is not known"
    return replace(outcome, reason=Reason.NACKED, error=f"The consumer answered {said}.")


def _status(body: bytes) -> str:
    """Empty: nothing was said by Dapr's words."""
    answer = _document(body)
    status = answer.get("status") if isinstance(answer, dict) else None
    return status if isinstance(status, str) else ""


def _document(body: bytes) -> Any:
    """None: it is not JSON."""
    try:
        return json.loads(body) if body else None
    except (ValueError, RecursionError):
        return _before_the_cut(body) if len(body) > ANSWER_BYTES else None


def _before_the_cut(body: bytes) -> dict[str, Any]:
    """Of an object of which the end is missing: its members that came whole."""
    text, at, members = body.decode("utf-8-sig", "replace"), 0, {}
    with suppress(ValueError, RecursionError):
        while name := _NAME.match(text, at):
            members[json.loads(name[1])], at = _decoder.raw_decode(text, name.end())
    return members
