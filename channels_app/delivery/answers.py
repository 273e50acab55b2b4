"""The answer of a consumer that speaks Dapr: its body says SUCCESS, RETRY or DROP, and a 404 is a DROP. Pure."""

import json
from dataclasses import replace

from channels_app.delivery.retry import Outcome
from channels_app.reasons import Reason


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
    try:
        answer = json.loads(body) if body else None
    except (ValueError, RecursionError):
        return ""
    status = answer.get("status") if isinstance(answer, dict) else None
    return status if isinstance(status, str) else ""
