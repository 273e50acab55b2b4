"""All letters that match are queued again: an operation, which goes in batches, can be stopped, and is watched."""

from dlq_app import redrive
from dlq_app.filters import LetterFilter


def how_many(meant: LetterFilter) -> str:
    """From counters where they know it; else counted, up to a limit."""
    found = redrive.count(meant)
    return f"{found.number:,}{'' if found.is_exact else ' or more'}"
