"""Reference: why a try or a job failed, and what to do about it."""

from broker_project.guide.table import table
from channels_app.reasons import ADVICE, Reason

HEAD = """# Reasons

Why a try failed or a job died: one list for jobs, attempts, counters, metrics and
[dead letters](../dead-letters.md#reasons). A retry policy's `nonRetriable` takes these words too. The admin gives the
same advice.

"""


def page() -> str:
    rows = [(f"`{reason}`", *_split(ADVICE[reason])) for reason in Reason]
    return HEAD + table(("reason", "what happened", "next step"), rows)


def _split(advice: str) -> tuple[str, str]:
    """An advice says what happened, a colon, and what to do."""
    happened, _, todo = advice.partition(": ")
    return happened, todo
